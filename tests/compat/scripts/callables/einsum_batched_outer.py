"""Outer products of a batch, kept apart by the first index: einsum with g.0 and l.0 tags."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_einsum("bi,bj->bij", ("left", "right"), name="outers", lang_version=(2018, 2))
knl = lp.add_dtypes(knl, {"left": np.float32, "right": np.float32})
knl = lp.tag_inames(knl, {"b": "g.0", "j": "l.0"})
knl = lp.fix_parameters(knl, Nj=7)

rng = np.random.default_rng(13)
left = rng.normal(size=(11, 4)).astype(np.float32)
right = rng.normal(size=(11, 7)).astype(np.float32)
evt, (out,) = knl(
    queue, left=cl.array.to_device(queue, left), right=cl.array.to_device(queue, right)
)

RESULTS = {"out": out.get()}
EXPECTED = {"out": left[:, :, None] * right[:, None, :]}
