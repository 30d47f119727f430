"""Mean, variance and skewness of columns, in the order that dependencies give."""

import loopy as lp
import numpy as np

rng = np.random.default_rng(152)
x = rng.gamma(2.0, size=(40, 3))

knl = lp.make_kernel(
    "{ [c,r,r2,r3]: 0<=c<3 and 0<=r,r2,r3<n }",
    """
    for c
        <> mu = sum(r, x[r,c])/n
        <> m2 = sum(r2, (x[r2,c] - mu)**2)/n
        dev(q) := x[q,c] - mu
        <> m3 = sum(r3, dev(r3)*dev(r3)*dev(r3))/n
        mean[c] = mu
        var[c] = m2
        skew[c] = m3 / m2**1.5
    end
    """,
    [
        lp.GlobalArg("x", np.float64, shape="n,3"),
        lp.GlobalArg("mean,var,skew", np.float64, shape=3),
        lp.ValueArg("n", np.int32),
    ],
    name="moments",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(x=x)

centred = x - x.mean(axis=0)
RESULTS = {name: out[name] for name in ("mean", "var", "skew")}
EXPECTED = {
    "mean": x.mean(axis=0),
    "var": x.var(axis=0),
    "skew": (centred**3).mean(axis=0) / x.var(axis=0) ** 1.5,
}
