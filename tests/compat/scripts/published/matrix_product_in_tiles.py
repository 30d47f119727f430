"""The paper's product of matrices: tiles of 16, both operands fetched into local memory."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
    "c[i,j] = sum(k, a[i,k]*b[k,j])",
    [
        lp.GlobalArg("a", np.float32, shape=("n", "l")),
        lp.GlobalArg("b", np.float32, shape=("l", "m")),
        lp.GlobalArg("c", np.float32, shape=("n", "m")),
        lp.ValueArg("n,m,l", np.int32),
    ],
    name="matmul",
    assumptions="n,m,l>=16 and n mod 16 = 0 and m mod 16 = 0 and l mod 16 = 0",
    lang_version=(2018, 2),
)
ref_knl = knl
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 16, outer_tag="g.1", inner_tag="l.0")
knl = lp.split_iname(knl, "k", 16)
knl = lp.add_prefetch(
    knl,
    "a",
    ["k_inner", "i_inner"],
    fetch_outer_inames="i_outer,j_outer,k_outer",
    default_tag="l.auto",
)
knl = lp.add_prefetch(
    knl,
    "b",
    ["j_inner", "k_inner"],
    fetch_outer_inames="i_outer,j_outer,k_outer",
    default_tag="l.auto",
)
rng = np.random.default_rng(20)
a = rng.normal(size=(32, 48)).astype(np.float32)
b = rng.normal(size=(48, 64)).astype(np.float32)
evt, (c,) = knl(queue, a=cl.array.to_device(queue, a), b=cl.array.to_device(queue, b))
lp.auto_test_vs_ref(
    ref_knl, ctx, knl, parameters={"n": 32, "m": 48, "l": 16}, print_code=False, quiet=True
)
locals_ = sorted(
    name
    for name, tv in lp.preprocess_kernel(knl).default_entrypoint.temporary_variables.items()
    if tv.address_space == lp.AddressSpace.LOCAL
)

RESULTS = {"c": c.get(), "local arrays": len(locals_)}
EXPECTED = {"c": a @ b, "local arrays": 2}
