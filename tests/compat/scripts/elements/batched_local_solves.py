"""Cholesky factors of 3 by 3 element matrices, many at once: to_batched, seq_dependencies."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
single = lp.make_kernel(
    "{ [dummy]: 0<=dummy<1 }",
    """
    L[0,0] = sqrt(M[0,0]) {id=l00}
    L[1,0] = M[1,0]/L[0,0] {id=l10, dep=l00}
    L[2,0] = M[2,0]/L[0,0] {id=l20, dep=l10}
    L[1,1] = sqrt(M[1,1] - L[1,0]*L[1,0]) {id=l11, dep=l20}
    L[2,1] = (M[2,1] - L[2,0]*L[1,0])/L[1,1] {id=l21, dep=l11}
    L[2,2] = sqrt(M[2,2] - L[2,0]*L[2,0] - L[2,1]*L[2,1]) {id=l22, dep=l21}
    """,
    [lp.GlobalArg("M", np.float64, shape=(3, 3)), lp.GlobalArg("L", np.float64, shape=(3, 3))],
    seq_dependencies=True,
    name="cholesky3",
    lang_version=(2018, 2),
)
single = lp.for_each_kernel(lp.remove_unused_inames)(single)
batched = lp.to_batched(single, 17, ["M", "L"], batch_iname_prefix="el")
inames = sorted(batched.default_entrypoint.all_inames())
rng = np.random.default_rng(74)
half = rng.random((17, 3, 3))
M = half @ half.transpose(0, 2, 1) + np.eye(3)
L = cl.array.zeros(queue, (17, 3, 3), np.float64)
batched(queue, M=cl.array.to_device(queue, M), L=L)

RESULTS = {"factors": L.get(), "loops": len(inames)}
EXPECTED = {"factors": np.linalg.cholesky(M), "loops": 1}
