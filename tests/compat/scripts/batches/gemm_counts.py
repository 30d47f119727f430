"""Operations and memory of a batched product, counted before and after a prefetch."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [e,i,j,k]: 0<=e<nel and 0<=i,j,k<8 }",
    "out[e,i,j] = sum(k, a[i,k]*b[e,k,j])",
    [
        lp.GlobalArg("a", np.float32, shape=(8, 8)),
        lp.GlobalArg("b,out", np.float32, shape=("nel", 8, 8)),
        ...,
    ],
    assumptions="nel>=1",
    name="gemms",
    lang_version=(2018, 2),
)
ops = lp.get_op_map(knl, subgroup_size="guess", count_redundant_work=True)
params = {"nel": 10}
flops = ops.filter_by(dtype=[np.float32]).eval_and_sum(params)
muls = ops.filter_by(dtype=[np.float32], name=["mul"]).eval_and_sum(params)
mem = lp.get_mem_access_map(knl, subgroup_size="guess", count_redundant_work=True)
stores = mem.filter_by(mtype=["global"], direction=["store"], variable=["out"])
loads_b = mem.filter_by(mtype=["global"], direction=["load"], variable=["b"])
read, written = set(), set()
for insn in knl["gemms"].instructions:
    read |= insn.read_dependency_names() & set(knl["gemms"].arg_dict)
    written |= set(insn.assignee_var_names())

RESULTS = {
    "flops": int(flops),
    "muls": int(muls),
    "stored bytes": int(stores.to_bytes().eval_and_sum(params)),
    "loads of b": int(loads_b.eval_and_sum(params)),
    "read": sorted(read),
    "written": sorted(written),
}
EXPECTED = {
    "flops": 2 * 10 * 8**3,
    "muls": 10 * 8**3,
    "stored bytes": 4 * 10 * 8**2,
    "loads of b": 10 * 8**3,
    "read": ["a", "b"],
    "written": ["out"],
}
