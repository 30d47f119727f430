"""Maxwell in 1D on Yee's staggered cells: two kernels, fused by hand with suffixes of names."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
electric = lp.make_kernel(
    "{ [i]: 1<=i<n }",
    "ez[i] = ez[i] + ce*(hy[i] - hy[i-1])",
    [lp.GlobalArg("ez", np.float64, shape="n+1"), lp.GlobalArg("hy", np.float64, shape="n"), ...],
    name="electric",
)
magnetic = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "hy[i] = hy[i] + ch*(ez[i+1] - ez[i])",
    [lp.GlobalArg("ez", np.float64, shape="n+1"), lp.GlobalArg("hy", np.float64, shape="n"), ...],
    name="magnetic",
)
electric = lp.add_dtypes(electric, {"ce": np.float64})
magnetic = lp.add_dtypes(magnetic, {"ch": np.float64})
electric, magnetic = (
    lp.split_iname(lp.assume(knl, "n>=2"), "i", 16, outer_tag="g.0", inner_tag="l.0")
    for knl in (electric, magnetic)
)
n = 50
ez, hy = np.zeros(n + 1), np.zeros(n)
ez[20:26] = 1
ez_dev, hy_dev = cl.array.to_device(queue, ez), cl.array.to_device(queue, hy)
for _ in range(9):
    magnetic(queue, ez=ez_dev, hy=hy_dev, ch=0.5)
    electric(queue, ez=ez_dev, hy=hy_dev, ce=0.5)

for _ in range(9):
    hy += 0.5 * np.diff(ez)
    ez[1:-1] += 0.5 * np.diff(hy)
RESULTS = {"electric": ez_dev.get(), "magnetic": hy_dev.get()}
EXPECTED = {"electric": ez, "magnetic": hy}
