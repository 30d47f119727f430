"""Products of a batch of small matrices by an einsum, the batch over groups."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(102)
a = rng.normal(size=(17, 4, 5))
b = rng.normal(size=(17, 5, 3))

knl = lp.make_einsum("bij,bjk->bik", ("A", "B"))
knl = lp.add_dtypes(knl, {"A": np.float64, "B": np.float64})
knl = lp.tag_inames(knl, {"b": "g.0", "i": "l.1", "k": "l.0"})
evt, (out,) = knl(queue, A=cl.array.to_device(queue, a), B=cl.array.to_device(queue, b))

RESULTS = {"out": out.get()}
EXPECTED = {"out": a @ b}
