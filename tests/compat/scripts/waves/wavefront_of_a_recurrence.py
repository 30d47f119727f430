"""A recurrence over a square by antidiagonals: affine_map_inames, one diagonal after another."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,j]: 1<=i,j<n }",
    "s[i,j] = 0.5*s[i-1,j] + 0.25*s[i,j-1] + g[i,j]",
    [lp.GlobalArg("s,g", np.float64, shape="n,n"), lp.ValueArg("n", np.int32)],
    name="wavefront",
    assumptions="n>=2",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.affine_map_inames(knl, "i,j", "d,k", ["d = i + j", "k = j"])
knl = lp.prioritize_loops(knl, ["d", "k"])
s, g = np.random.default_rng(50).random((2, 14, 14))
s_dev = s.copy()
knl(s=s_dev, g=g.copy())

for i in range(1, 14):
    for j in range(1, 14):
        s[i, j] = 0.5 * s[i - 1, j] + 0.25 * s[i, j - 1] + g[i, j]
RESULTS = {"s": s_dev}
EXPECTED = {"s": s}
