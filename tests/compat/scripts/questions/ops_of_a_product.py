"""Floating-point operations of a matrix product: get_op_map by type and by name."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, k, j]: 0<=i<n and 0<=k<m and 0<=j<l }",
    "c[i, j] = sum(k, a[i, k]*b[k, j]) / 3.0 + d[i]*a[i, 0]",
    name="mat_mul",
    lang_version=(2018, 2),
)
knl = lp.add_and_infer_dtypes(knl, {"a": np.float32, "b": np.float32, "d": np.float64})
params = {"n": 20, "m": 30, "l": 40}
op_map = lp.get_op_map(knl, count_redundant_work=True, subgroup_size=32)
by_name = op_map.filter_by(dtype=[np.float32]).group_by("name")
single = {key.name: count.eval_with_dict(params) for key, count in by_name.items()}
double = op_map.filter_by(dtype=[np.float64]).eval_and_sum(params)

RESULTS = {"single": single, "double": double}
EXPECTED = {
    "single": {"mul": 20 * 30 * 40, "add": 20 * 30 * 40, "div": 20 * 40},
    "double": 2 * 20 * 40,
}
