"""Counts of a matrix product's operations, as the paper shows them, without running anything."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<l }",
    "c[i,j] = sum(k, a[i,k]*b[k,j])",
    [
        lp.GlobalArg("a", np.float32, shape="n,l"),
        lp.GlobalArg("b", np.float32, shape="l,m"),
        lp.GlobalArg("c", np.float32, shape="n,m"),
        lp.ValueArg("n,m,l", np.int32),
    ],
    name="matmul",
    assumptions="n,m,l >= 1",
    lang_version=(2018, 2),
)
sizes = {"n": 64, "m": 32, "l": 16}
ops = lp.get_op_map(knl, subgroup_size=32, count_redundant_work=True)
floats = ops.filter_by(dtype=[np.float32])
adds = floats.filter_by(name=["add"]).eval_and_sum(sizes)
muls = floats.filter_by(name=["mul"]).eval_and_sum(sizes)
accesses = lp.get_mem_access_map(knl, subgroup_size=32, count_redundant_work=True)
stores = accesses.filter_by(direction=["store"]).eval_and_sum(sizes)
loads = accesses.filter_by(direction=["load"], variable=["a"]).eval_and_sum(sizes)

RESULTS = {
    "additions": adds,
    "multiplications": muls,
    "stores of c": stores,
    "loads of a": loads,
}
EXPECTED = {
    "additions": 64 * 32 * 16,
    "multiplications": 64 * 32 * 16,
    "stores of c": 64 * 32,
    "loads of a": 64 * 32 * 16,
}
