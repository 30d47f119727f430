"""Three contractions of a spectral element's field: temporaries between, unrolled sums."""

import loopy as lp
import numpy as np

n = 5
knl = lp.make_kernel(
    "{ [e,a,b,c,m,a2,b2,c2,m2,a3,b3,c3,m3]: 0<=e<ne and 0<=a,b,c,m,a2,b2,c2,m2,a3,b3,c3,m3<5 }",
    """
    for e
        t1[a,b,c] = sum(m, B[a,m]*u[e,m,b,c]) {id=x}
        t2[a2,b2,c2] = sum(m2, B[b2,m2]*t1[a2,m2,c2]) {id=y, dep=x}
        v[e,a3,b3,c3] = sum(m3, B[c3,m3]*t2[a3,b3,m3]) {id=z, dep=y}
    end
    """,
    [
        lp.GlobalArg("B", np.float64, shape=(n, n)),
        lp.GlobalArg("u,v", np.float64, shape=("ne", n, n, n)),
        lp.TemporaryVariable("t1", np.float64, shape=(n, n, n)),
        lp.TemporaryVariable("t2", np.float64, shape=(n, n, n)),
        lp.ValueArg("ne", np.int32),
    ],
    name="contract",
    assumptions="ne>=1",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"m": "unr", "m2": "unr", "m3": "unr"})
rng = np.random.default_rng(72)
B, u = rng.normal(size=(n, n)), rng.normal(size=(3, n, n, n))
evt, (v,) = knl(B=B, u=u)

RESULTS = {"v": v}
EXPECTED = {"v": np.einsum("ax,by,cz,exyz->eabc", B, B, B, u, optimize=True)}
