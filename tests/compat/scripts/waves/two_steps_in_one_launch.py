"""Two smoothing steps in one group, a local array between: TemporaryVariable, local barriers."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.kernel.data import AddressSpace

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [b,i,j]: 0<=b<nb and 0<=i<18 and 0<=j<16 }",
    """
    for b
        mid[i] = (u[16*b + i] + u[16*b + i+1] + u[16*b + i+2])/3 {id=first}
        v[16*b + j] = (mid[j] + mid[j+1] + mid[j+2])/3 {id=second, dep=first}
    end
    """,
    [
        lp.TemporaryVariable("mid", np.float64, shape=(18,), address_space=AddressSpace.LOCAL),
        lp.GlobalArg("u", np.float64, shape="16*nb+4"),
        lp.GlobalArg("v", np.float64, shape="16*nb"),
        lp.ValueArg("nb", np.int32),
    ],
    name="smooth_twice",
    assumptions="nb>=1",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"b": "g.0", "i": "l.0", "j": "l.0"})
u = np.random.default_rng(51).random(16 * 5 + 4)
evt, (v,) = knl(queue, u=u, nb=5)
code = lp.generate_code_v2(knl).device_code()

once = np.convolve(u, np.ones(3) / 3, mode="valid")
RESULTS = {"v": v, "barriers": code.count("barrier(CLK_LOCAL_MEM_FENCE)") >= 1}
EXPECTED = {"v": np.convolve(once, np.ones(3) / 3, mode="valid"), "barriers": True}
