"""Axes with names, layouts with strides of one's own: what a kernel says about its arrays."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, j]: 0<=i<8 and 0<=j<16 }",
    "grid[i, j] = i + 100*j",
    [lp.GlobalArg("grid", np.int32, shape=(8, 16))],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.set_array_axis_names(knl, "grid", ["row", "column"])
knl = lp.tag_array_axes(knl, "grid", "stride:1,stride:8")
arg = knl.default_entrypoint.arg_dict["grid"]
evt, (grid,) = knl()

RESULTS = {
    "names": list(arg.dim_names),
    "strides": [tag.stride for tag in arg.dim_tags],
    "grid": grid,
    "in memory": grid.ravel(order="K")[:9],
}
EXPECTED = {
    "names": ["row", "column"],
    "strides": [1, 8],
    "grid": np.arange(8)[:, None] + 100 * np.arange(16),
    "in memory": np.array([0, 1, 2, 3, 4, 5, 6, 7, 100]),
}
