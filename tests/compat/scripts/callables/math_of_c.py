"""Functions of C's mathematics on the host: pow, fmin, fmax, floor, atan2, exp, log."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    powers[i] = pow(x[i], 1.5)
    clamped[i] = fmax(0.25, fmin(x[i], 1.75))
    whole[i] = floor(10*x[i]) + ceil(x[i])
    angle[i] = atan2(x[i], 2.0)
    soft[i] = log(1 + exp(x[i]))
    """,
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"x": np.float64})
knl = lp.set_options(knl, return_dict=True)

x = np.random.default_rng(99).uniform(0.1, 2, size=57)
evt, out = knl(x=x)

RESULTS = {name: out[name] for name in ("powers", "clamped", "whole", "angle", "soft")}
EXPECTED = {
    "powers": x**1.5,
    "clamped": np.clip(x, 0.25, 1.75),
    "whole": np.floor(10 * x) + np.ceil(x),
    "angle": np.arctan2(x, 2),
    "soft": np.log1p(np.exp(x)),
}
