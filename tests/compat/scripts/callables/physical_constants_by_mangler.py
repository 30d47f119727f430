"""Names of constants in expressions (`R_GAS`, `T_REF`) by symbol manglers."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
VALUES = {"R_GAS": "8.31446", "T_REF": "298.15"}


def constants(kernel, name):
    if name in VALUES:
        return lp.to_loopy_type(np.dtype(np.float64)), VALUES[name]
    return None


knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "p[i] = rho[i] * R_GAS * T_REF / molar_mass",
    [
        lp.GlobalArg("rho, p", np.float64, shape="n"),
        lp.ValueArg("molar_mass", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.register_symbol_manglers(knl, [constants])
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")

rho = np.linspace(0.5, 1.5, 101)
evt, (p,) = knl(queue, rho=cl.array.to_device(queue, rho), molar_mass=0.029)

RESULTS = {"p": p.get()}
EXPECTED = {"p": rho * 8.31446 * 298.15 / 0.029}
