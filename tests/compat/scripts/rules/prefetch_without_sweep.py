"""Scalars fetched into registers before use: add_prefetch of single entries, on the host."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, j]: 0<=i<n and 0<=j<m }",
    "out[i, j] = (s[i]*x[i, j] + s[i]) / (1 + s[i]*s[i])",
    [
        lp.GlobalArg("s", np.float64, shape="n"),
        lp.GlobalArg("x, out", np.float64, shape=("n", "m")),
        lp.ValueArg("n, m", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.add_prefetch(knl, "s", temporary_name="s_i", default_tag=None)
knl = lp.prioritize_loops(knl, "i,j")

rng = np.random.default_rng(16)
s, x = rng.normal(size=6), rng.normal(size=(6, 10))
evt, (out,) = knl(s=s, x=x)

temporaries = knl.default_entrypoint.temporary_variables
RESULTS = {"out": out, "shape": list(temporaries["s_i"].shape)}
EXPECTED = {"out": ((s * x.T + s) / (1 + s * s)).T, "shape": []}
