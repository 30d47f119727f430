"""A recurrence in two directions, skewed by an affine map so that the outer loop is the front."""

import loopy as lp
import numpy as np

n = 9
knl = lp.make_kernel(
    "{ [i,j]: 1<=i,j<n }",
    "a[i,j] = a[i-1,j] + a[i,j-1]",
    [lp.GlobalArg("a", np.float64, shape=("n", "n")), "..."],
    name="pascal",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
knl = lp.affine_map_inames(knl, "i,j", "w,p", ["w = i+j", "p = j"])
knl = lp.prioritize_loops(knl, "w,p")
start = np.zeros((n, n))
start[0, :] = start[:, 0] = 1
evt, (a,) = knl(a=start)

expected = np.ones((n, n))
for i in range(1, n):
    for j in range(1, n):
        expected[i, j] = expected[i - 1, j] + expected[i, j - 1]
RESULTS = {"a": a, "inames": sorted(knl["pascal"].all_inames())}
EXPECTED = {"a": expected, "inames": ["p", "w"]}
