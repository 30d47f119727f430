"""A body force after Guo added to populations, with the mean speed of the box."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
force = lp.make_kernel(
    "{ [s,q]: 0<=s<n and 0<=q<9 }",
    "f[s,q] = f[s,q] + w[q]*3*cx[q]*gx {id=push}",
    [
        lp.GlobalArg("f", np.float64, shape="n,9"),
        lp.GlobalArg("w,cx", np.float64, shape=(9,)),
        lp.ValueArg("gx", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="force",
    assumptions="n>=1",
)
average = lp.make_kernel(
    "{ [t,p]: 0<=t<n and 0<=p<9 }",
    "mean = sum([t,p], cx[p]*f[t,p])/n {id=mean}",
    [
        lp.GlobalArg("f", np.float64, shape="n,9"),
        lp.GlobalArg("cx", np.float64, shape=(9,)),
        lp.GlobalArg("mean", np.float64, shape=()),
        lp.ValueArg("n", np.int32),
    ],
    name="average",
    assumptions="n>=1",
)
both = lp.fuse_kernels([force, average], data_flow=[("f", 0, 1)])
both = lp.add_dependency(both, "id:mean", "id:push")
both = lp.set_options(both, return_dict=True)
cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1.0])
w = np.array([16, 4, 4, 4, 4, 1, 1, 1, 1]) / 36
f = np.random.default_rng(99).random((33, 9))
f_dev = cl.array.to_device(queue, f)
evt, found = both(
    queue, f=f_dev, w=cl.array.to_device(queue, w), cx=cl.array.to_device(queue, cx), gx=0.01
)

expected = f + 0.03 * w * cx
RESULTS = {"f": f_dev.get(), "mean": float(found["mean"].get())}
EXPECTED = {"f": expected, "mean": (expected @ cx).mean()}
