"""Explicit heat steps in one kernel: copy back after a global barrier, the time loop outermost."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.kernel.data import AddressSpace

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "[n,steps] -> { [t,i,j]: 0<=t<steps and 1<=i,j<n-1 }",
    """
    for t
        new[i] = T[i] + r*(T[i-1] - 2*T[i] + T[i+1]) {id=step, dep=*}
        ... gbarrier {id=one, dep=*step}
        T[j] = new[j] {id=back, dep=*one}
        ... gbarrier {id=two, dep=*back}
    end
    """,
    [
        lp.GlobalArg("T", np.float64, shape="n"),
        lp.TemporaryVariable("new", np.float64, shape="n", address_space=AddressSpace.GLOBAL),
        lp.ValueArg("r", np.float64),
        lp.ValueArg("n,steps", np.int32),
    ],
    name="heat",
    assumptions="n>=3 and steps>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "j", 16, outer_tag="g.0", inner_tag="l.0")

T = np.random.default_rng(40).random(45)
T_dev = cl.array.to_device(queue, T)
knl(queue, T=T_dev, r=0.2, n=45, steps=6)

for _ in range(6):
    T[1:-1] += 0.2 * (T[:-2] - 2 * T[1:-1] + T[2:])
RESULTS = {"temperature": T_dev.get()}
EXPECTED = {"temperature": T}
