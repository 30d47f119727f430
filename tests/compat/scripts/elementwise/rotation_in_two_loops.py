"""An array moved round by k places: two loops, a global temporary and a global barrier between."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.kernel.data import AddressSpace

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "[n,k] -> { [i,j]: 0<=i,j<n }",
    """
    tmp[i] = arr[i] {id=save, dep=*}
    ... gbarrier {id=bar, dep=*save}
    arr[(j + k) % n] = tmp[j] {id=rotate, dep=*bar}
    """,
    [
        lp.GlobalArg("arr", np.float64, shape=("n",)),
        lp.TemporaryVariable("tmp", np.float64, shape=("n",), address_space=AddressSpace.GLOBAL),
        lp.ValueArg("n,k", np.int32),
    ],
    assumptions="n>=1 and k>=0",
    name="rotate_by",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "j", 32, outer_tag="g.0", inner_tag="l.0")

arr = np.random.default_rng(5).random(101)
RESULTS, EXPECTED = {}, {}
for k in (0, 1, 37, 100):
    arr_dev = cl.array.to_device(queue, arr)
    knl(queue, arr=arr_dev, k=k, n=101)
    RESULTS[f"by {k}"] = arr_dev.get()
    EXPECTED[f"by {k}"] = np.roll(arr, k)
