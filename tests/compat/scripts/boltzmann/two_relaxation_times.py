"""Two relaxation times for D2Q5: even and odd parts in private temporaries."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [s,k]: 0<=s<n and 0<=k<2 }",
    """
    for s
        <> rho = f[0,s] + f[1,s] + f[2,s] + f[3,s] + f[4,s]
        g[0,s] = f[0,s] - wp*(f[0,s] - w0*rho) {id=rest, nosync=plus:minus}
        for k
            <> even = 0.5*(f[k+1,s] + f[k+3,s]) - w1*rho
            <> odd = 0.5*(f[k+1,s] - f[k+3,s]) - 3*w1*u[k,s]*rho
            g[k+1,s] = f[k+1,s] - wp*even - wm*odd {id=plus, nosync=rest:minus}
            g[k+3,s] = f[k+3,s] - wp*even + wm*odd {id=minus, nosync=rest:plus}
        end
    end
    """,
    [
        lp.GlobalArg("f,g", np.float64, shape="5,n"),
        lp.GlobalArg("u", np.float64, shape="2,n"),
        lp.ValueArg("wp,wm,w0,w1", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="trt",
    assumptions="n>=1",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, w0=1 / 3, w1=1 / 6)
knl = lp.tag_inames(knl, "k:unr")
rng = np.random.default_rng(95)
f, u = rng.random((5, 31)), 0.1 * rng.normal(size=(2, 31))
evt, (g,) = knl(f=f, u=u, wp=1.1, wm=0.7)

rho = f.sum(axis=0)
expected = np.empty_like(f)
expected[0] = f[0] - 1.1 * (f[0] - rho / 3)
even = 0.5 * (f[1:3] + f[3:5]) - rho / 6
odd = 0.5 * (f[1:3] - f[3:5]) - 0.5 * u * rho
expected[1:3] = f[1:3] - 1.1 * even - 0.7 * odd
expected[3:5] = f[3:5] - 1.1 * even + 0.7 * odd
RESULTS = {"g": g}
EXPECTED = {"g": expected}
