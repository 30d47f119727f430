"""Batched products of matrices that lie in memory with padded leading dimensions and offsets."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(127)
nb, n, ld = 5, 3, 8
a = rng.normal(size=(nb, n, ld))
b = rng.normal(size=(nb, n, ld))

knl = lp.make_kernel(
    "{ [b,i,j,k]: 0<=b<nb and 0<=i,j,k<n }",
    "C[b,i,j] = sum(k, A[b,i,k]*B[b,k,j])",
    [
        lp.GlobalArg("A", np.float64, shape=(nb, n, n), strides=(n * ld, ld, 1)),
        lp.GlobalArg("B", np.float64, shape=(nb, n, n), strides=(n * ld, ld, 1), offset=lp.auto),
        lp.GlobalArg("C", np.float64, shape=(nb, n, n), order="F"),
    ],
    name="strided",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, nb=nb, n=n)
knl = lp.tag_inames(knl, {"b": "g.0", "i": "l.0"})
a_dev, b_dev = cl.array.to_device(queue, a), cl.array.to_device(queue, b)
evt, (c,) = knl(queue, A=a_dev[:, :, :n], B=b_dev[:, :, 2 : 2 + n])

RESULTS = {"c": c.get(), "order": bool(c.get().flags.f_contiguous)}
EXPECTED = {"c": a[:, :, :n] @ b[:, :, 2 : 2 + n], "order": True}
