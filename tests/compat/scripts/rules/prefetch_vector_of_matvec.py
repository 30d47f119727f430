"""The vector of a product is fetched in pieces into local memory: add_prefetch of 16 entries."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<n }",
    "y[i] = sum(j, A[i, j]*x[j])",
    [
        lp.GlobalArg("A", np.float64, shape=("n", "n")),
        lp.GlobalArg("x, y", np.float64, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n >= 16 and n mod 16 = 0",
    lang_version=(2018, 2),
)
ref_knl = knl
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "j", 16)
knl = lp.add_prefetch(
    knl,
    "x",
    ["j_inner"],
    fetch_outer_inames="i_outer, j_outer",
    temporary_name="x_piece",
    default_tag="l.auto",
)
lp.auto_test_vs_ref(ref_knl, ctx, knl, parameters={"n": 64}, print_code=False)

rng = np.random.default_rng(7)
A, x = rng.normal(size=(48, 48)), rng.normal(size=48)
evt, (y,) = knl(queue, A=cl.array.to_device(queue, A), x=cl.array.to_device(queue, x))

fetched = knl.default_entrypoint.temporary_variables["x_piece"]
RESULTS = {"y": y.get(), "entries": list(fetched.shape)}
EXPECTED = {"y": A @ x, "entries": [16]}
