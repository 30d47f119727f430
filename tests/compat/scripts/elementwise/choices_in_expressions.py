"""A limiter of slopes with if(c, a, b), Python's conditional expression and logical operators."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> p = a[i]
    <> q = b[i]
    minmod[i] = if(p*q <= 0, 0, if(fabs(p) < fabs(q), p, q))
    sign[i] = 1 if p > 0 else (-1 if p < 0 else 0)
    both[i] = 1 if p > 0 and q > 0 else 0
    some[i] = 1 if p > 0 or not (q <= 0.5) else 0
    """,
    [lp.GlobalArg("sign,both,some", np.int32, shape=lp.auto), "..."],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)
rng = np.random.default_rng(11)
p, q = rng.normal(size=(2, 83))
p[:3] = 0
evt, got = knl(a=p.copy(), b=q.copy())

RESULTS = {name: got[name] for name in ("minmod", "sign", "both", "some")}
EXPECTED = {
    "minmod": np.where(p * q <= 0, 0, np.where(np.abs(p) < np.abs(q), p, q)),
    "sign": np.sign(p).astype(int),
    "both": ((p > 0) & (q > 0)).astype(int),
    "some": ((p > 0) | (q > 0.5)).astype(int),
}
