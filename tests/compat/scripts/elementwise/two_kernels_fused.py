"""Two elementwise kernels in one, along an array: fuse_kernels with data_flow, rename_iname."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
first = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "u[i] = exp(-x[i]*x[i]) {id=gauss}",
    [lp.GlobalArg("x,u", np.float64, shape="n"), "..."],
    name="gauss",
    lang_version=(2018, 2),
)
second = lp.make_kernel(
    "{ [k]: 0<=k<n }",
    "v[k] = u[k] - mean {id=shift}",
    [lp.GlobalArg("u,v", np.float64, shape="n"), lp.ValueArg("mean", np.float64), "..."],
    name="shift",
    lang_version=(2018, 2),
)
fused = lp.fuse_kernels([first, second], suffixes=["_a", "_b"], data_flow=[("u", 0, 1)])
ids = sorted(fused.default_entrypoint.id_to_insn)
inames = sorted(fused.default_entrypoint.all_inames())
fused = lp.rename_iname(fused, "k", "i", existing_ok=True)
fused = lp.split_iname(fused, "i", 16, outer_tag="g.0", inner_tag="l.0")
fused = lp.set_options(fused, return_dict=True)

x = np.linspace(-2, 2, 67)
evt, found = fused(queue, x=x, mean=0.25)

RESULTS = {"u": found["u"], "v": found["v"], "ids": ids, "inames": inames}
EXPECTED = {
    "u": np.exp(-(x**2)),
    "v": np.exp(-(x**2)) - 0.25,
    "ids": ["gauss", "shift"],
    "inames": ["i", "k"],
}
