"""A temporary row is put into local memory by set_temporary_address_space."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [b, i, j]: 0<=b<nb and 0<=i,j<12 }",
    """
    for b
        row[i] = x[b, i] - 1        {id=load}
        y[b, j] = row[j]*row[11-j]  {dep=load}
    end
    """,
    [
        lp.GlobalArg("x, y", np.float32, shape=("nb", 12)),
        lp.TemporaryVariable("row", np.float32, shape=(12,)),
        lp.ValueArg("nb", np.int32),
    ],
    assumptions="nb >= 1",
    lang_version=(2018, 2),
)
knl = lp.set_temporary_address_space(knl, "row", "local")
knl = lp.tag_inames(knl, {"b": "g.0", "i": "l.0", "j": "l.0"})
code = lp.generate_code_v2(knl).device_code()

x = np.random.default_rng(14).uniform(size=(6, 12)).astype(np.float32)
evt, (y,) = knl(queue, x=cl.array.to_device(queue, x))

space = knl.default_entrypoint.temporary_variables["row"].address_space
RESULTS = {"y": y.get(), "local": space == lp.AddressSpace.LOCAL, "in code": "__local" in code}
EXPECTED = {"y": (x - 1) * (x - 1)[:, ::-1], "local": True, "in code": True}
