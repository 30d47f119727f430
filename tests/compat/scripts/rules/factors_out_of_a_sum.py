"""collect_common_factors_on_increment: what all increments share is multiplied once, after."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, j, k]: 0<=i<5 and 0<=j<6 and 0<=k<6 }",
    """
    <float64> t[k] = 0  {id=init}
    t[j] = t[j] + a*x[i, j]    {id=one, dep=init}
    t[j] = t[j] + a*y[i, j]*2  {id=two, dep=one}
    out[i, j] = t[j]  {dep=two}
    """,
    [
        lp.GlobalArg("x, y, out", np.float64, shape=(5, 6)),
        lp.ValueArg("a", np.float64),
        ...,
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.add_inames_to_insn(knl, "i", "id:init")
knl = lp.collect_common_factors_on_increment(knl, "t")
knl = lp.prioritize_loops(knl, "i,j")

rng = np.random.default_rng(27)
x, y = rng.normal(size=(2, 5, 6))
evt, (out,) = knl(x=x, y=y, a=1.5)

RESULTS = {"out": out}
EXPECTED = {"out": 1.5 * (x + 2 * y)}
