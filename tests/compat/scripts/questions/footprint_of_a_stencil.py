"""Which entries a stencil touches: gather_access_footprints, whose sets of isl are counted."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<n }",
    "v[i, j] = u[i, j] + u[i+2, j] + u[i, j+2] + u[i+2, j+2] + u[i+1, j+1]",
    [
        lp.GlobalArg("u", np.float32, shape=("n+2", "n+2")),
        lp.GlobalArg("v", np.float64, shape=("n", "n")),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n >= 3",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, n=10)
footprints = lp.gather_access_footprints(knl)


def size(footprint):
    points = []
    footprint.foreach_point(points.append)
    return len(points)


touched = np.zeros((12, 12), bool)
for di, dj in ((0, 0), (2, 0), (0, 2), (2, 2), (1, 1)):
    touched[di : di + 10, dj : dj + 10] = True
RESULTS = {
    "which": sorted(" ".join(key) for key in footprints),
    "read": size(footprints["u", "read"]),
    "written": size(footprints["v", "write"]),
}
EXPECTED = {"which": ["u read", "v write"], "read": int(touched.sum()), "written": 100}
