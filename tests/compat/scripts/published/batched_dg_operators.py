"""One small matrix for many elements, and a matrix for each: einsum, to_batched."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
shared = lp.make_einsum("ij,ej->ei", ["mat", "u"], name="shared_matrix")
own = lp.make_einsum("eij,ej->ei", ["mats", "u"], name="own_matrix")
shared = lp.tag_inames(shared, {"e": "g.0"})
own = lp.split_iname(own, "e", 4, outer_tag="g.0", inner_tag="l.0")
single = lp.make_kernel(
    "{ [i,j]: 0<=i,j<5 }",
    "v[i] = sum(j, mat[i,j]*u[j])",
    [
        lp.GlobalArg("mat", np.float64, shape=(5, 5)),
        lp.GlobalArg("u,v", np.float64, shape=(5,)),
    ],
    name="single",
    lang_version=(2018, 2),
)
batched = lp.to_batched(single, "K", ["u", "v"], batch_iname_prefix="el")
rng = np.random.default_rng(34)
mats, u = rng.random((9, 5, 5)), rng.random((9, 5))
to_dev = lambda array: cl.array.to_device(queue, array)  # noqa: E731
evt, (v_shared,) = shared(queue, mat=to_dev(mats[0].copy()), u=to_dev(u))
evt, (v_own,) = own(queue, mats=to_dev(mats), u=to_dev(u))
evt, (v_batched,) = batched(queue, mat=to_dev(mats[0].copy()), u=to_dev(u))

RESULTS = {"shared": v_shared.get(), "own": v_own.get(), "batched": v_batched.get()}
EXPECTED = {
    "shared": u @ mats[0].T,
    "own": np.einsum("eij,ej->ei", mats, u),
    "batched": u @ mats[0].T,
}
