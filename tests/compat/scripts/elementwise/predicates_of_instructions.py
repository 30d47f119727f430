"""Updates where a mask says so: predicates in braces, and predicates that are removed again."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> flag = mask[i] > 0 {id=flag}
    x[i] = x[i] + dx[i] {id=move, dep=flag, if=flag}
    """,
    [
        lp.GlobalArg("mask", np.int32, shape="n"),
        lp.GlobalArg("x,dx", np.float32, shape="n"),
        "...",
    ],
)
always = lp.remove_predicates_from_insn(
    knl, knl.default_entrypoint.id_to_insn["move"].predicates, "id:move"
)

rng = np.random.default_rng(2)
x, dx = rng.random((2, 61)).astype(np.float32)
mask = rng.integers(-1, 2, 61).astype(np.int32)
masked_x = cl.array.to_device(queue, x)
always_x = cl.array.to_device(queue, x)
dx_dev, mask_dev = cl.array.to_device(queue, dx), cl.array.to_device(queue, mask)
knl(queue, mask=mask_dev, x=masked_x, dx=dx_dev)
always(queue, mask=mask_dev, x=always_x, dx=dx_dev)

RESULTS = {
    "where masked": masked_x.get(),
    "everywhere": always_x.get(),
    "predicates": [len(k.default_entrypoint.id_to_insn["move"].predicates) for k in (knl, always)],
}
EXPECTED = {
    "where masked": np.where(mask > 0, x + dx, x),
    "everywhere": x + dx,
    "predicates": [1, 0],
}
