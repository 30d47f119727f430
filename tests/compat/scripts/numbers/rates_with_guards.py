"""Logs and ratios with guards: if(...) keeps zeros out, sentinel values mark what is missing."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> valid = hits[i] > 0 and total[i] > 0
    rate[i] = if(valid, hits[i] / fmax(total[i], 1.0), -1.0)
    info[i] = if(valid, -log(fmax(rate[i], 1e-30)), 1e300)
    outlier[i] = if(rate[i] >= 0.5 or not valid, 1, 0)
    """,
    [
        lp.GlobalArg("hits, total", np.float64, shape="n"),
        lp.GlobalArg("rate, info", np.float64, shape="n", is_input=False),
        lp.GlobalArg("outlier", np.int8, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    seq_dependencies=True,
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)

rng = np.random.default_rng(14)
total = rng.integers(0, 5, size=40).astype(np.float64)
hits = np.floor(total * rng.uniform(size=40))
evt, out = knl(hits=hits, total=total)

valid = hits > 0
rate = np.where(valid, hits / np.maximum(total, 1), -1)
RESULTS = {name: out[name] for name in ("rate", "info", "outlier")}
EXPECTED = {
    "rate": rate,
    "info": np.where(valid, -np.log(np.maximum(rate, 1e-30)), 1e300),
    "outlier": ((rate >= 0.5) | ~valid).astype(np.int8),
}
