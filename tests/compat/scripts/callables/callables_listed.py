"""What a program consists of: its table of functions, entrypoints, the callee's arguments."""

import loopy as lp
import numpy as np
from loopy.kernel.function_interface import CallableKernel, ScalarCallable

relu = lp.make_function(
    "{ [i]: 0<=i<10 }",
    "y[i] = fmax(0.0, x[i])",
    [lp.GlobalArg("x, y", np.float64, shape=(10,))],
    name="relu",
    lang_version=(2018, 2),
)
layer = lp.make_kernel(
    "{ [i, j, k, l]: 0<=i,j,k,l<10 }",
    """
    lin[i] = bias[i] + sum(j, W[i, j]*inp[j])  {id=lin}
    [k]: out[k] = relu([l]: lin[l])  {dep=lin}
    """,
    [
        lp.GlobalArg("W", np.float64, shape=(10, 10)),
        lp.GlobalArg("bias, inp, out", np.float64, shape=(10,)),
        lp.TemporaryVariable("lin", np.float64, shape=(10,)),
    ],
    name="layer",
    lang_version=(2018, 2),
)
prog = lp.merge([layer, relu])
prog = lp.infer_unknown_types(prog)
kernels = [
    clbl.subkernel.name
    for clbl in prog.callables_table.values()
    if isinstance(clbl, CallableKernel)
]
scalars = [clbl for clbl in prog.callables_table.values() if isinstance(clbl, ScalarCallable)]

RESULTS = {
    "kernels": sorted(kernels),
    "scalar functions": len(scalars),
    "entry": prog.default_entrypoint.name,
    "args": [arg.name for arg in prog["relu"].args],
    "written": sorted(prog["relu"].get_written_variables()),
}
EXPECTED = {
    "kernels": ["layer", "relu"],
    "scalar functions": 1,
    "entry": "layer",
    "args": ["x", "y"],
    "written": ["y"],
}
