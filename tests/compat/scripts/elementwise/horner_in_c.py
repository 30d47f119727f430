"""A polynomial by Horner's rule, run as plain C on the host: ExecutableCTarget, unrolled loop."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<n and 0<=k<6 }",
    """
    for i
        <> acc = 0 {id=init}
        for k
            acc = acc*x[i] + c[5-k] {id=step, dep=init}
        end
        p[i] = acc {dep=step}
    end
    """,
    [
        lp.GlobalArg("x,p", np.float64, shape=("n",)),
        lp.GlobalArg("c", np.float64, shape=(6,)),
        lp.ValueArg("n", np.int32),
        ...,
    ],
    target=lp.ExecutableCTarget(),
    name="horner",
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"acc": np.float64})
knl = lp.tag_inames(knl, {"k": "unr"})
x = np.linspace(-1, 1, 37)
c = np.array([1.0, -0.5, 0.25, 3.0, 0.0, -2.0])
evt, (p,) = knl(x=x, c=c)

RESULTS = {"p": p}
EXPECTED = {"p": np.polynomial.polynomial.polyval(x, c)}
