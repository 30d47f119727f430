"""The tiled product as CUDA text: shared arrays, barriers, and the grid that a launch needs."""

import loopy as lp
import numpy as np
from loopy.target.cuda import CudaTarget

knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i,j,k<n }",
    "c[i,j] = sum(k, a[i,k]*b[k,j])",
    [lp.GlobalArg("a,b,c", np.float32, shape="n,n"), lp.ValueArg("n", np.int32)],
    target=CudaTarget(),
    name="gemm",
    assumptions="n mod 32 = 0 and n >= 32",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.1", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 32, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "k", 32)
outer = frozenset(["i_outer", "j_outer", "k_outer"])
knl = lp.add_prefetch(
    knl, "a", ["i_inner", "k_inner"], fetch_outer_inames=outer, default_tag="l.auto"
)
knl = lp.add_prefetch(
    knl, "b", ["k_inner", "j_inner"], fetch_outer_inames=outer, default_tag="l.auto"
)
code = lp.generate_code_v2(knl).device_code()
entry = knl.default_entrypoint
sizes = entry.get_grid_size_upper_bounds_as_exprs(knl.callables_table)

RESULTS = {
    "shared arrays": code.count("__shared__"),
    "barriers in the text": code.count("__syncthreads") >= 2,
    "work items": list(sizes[1]),
}
EXPECTED = {"shared arrays": 2, "barriers in the text": True, "work items": [32, 8]}
