"""Operations of one phase of a kernel only, and redundant work of idle axes: within= of counts."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, j]: 0<=i<n and 0<=j<m }",
    """
    for i
        <> s = exp(x[i]) {id=prep, tags=setup}
        y[i] = s/(1 + s) {id=once, dep=prep, tags=setup}
    end
    for j
        z[j] = 3*v[j]*v[j] + v[j] {id=poly, tags=poly}
    end
    """,
    [
        lp.GlobalArg("x, y", np.float64, shape="n"),
        lp.GlobalArg("v, z", np.float64, shape="m"),
        lp.ValueArg("n, m", np.int32),
    ],
    lang_version=(2018, 2),
)
params = {"n": 50, "m": 30}


def ops(within):
    op_map = lp.get_op_map(knl, count_within_subscripts=False, subgroup_size=32, within=within)
    return {
        key.name: count.eval_with_dict(params)
        for key, count in op_map.filter_by(dtype=[np.float64]).group_by("name").items()
    }


RESULTS = {"setup": ops("tag:setup"), "divisions": ops(None)["div"], "mul": ops("tag:poly")["mul"]}
EXPECTED = {
    "setup": {"func:exp": 50, "add": 50, "div": 50},
    "divisions": 50,
    "mul": 60,
}
