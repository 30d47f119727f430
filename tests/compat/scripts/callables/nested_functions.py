"""A function that calls another: a quartic by two squares, merged from three parts."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
square = lp.make_function(
    "{ [i]: 0<=i<9 }",
    "y[i] = x[i]*x[i]",
    [lp.GlobalArg("x, y", shape=(9,))],
    name="square",
    lang_version=(2018, 2),
)
fourth = lp.make_function(
    "{ [i, j, k, l]: 0<=i,j,k,l<9 }",
    """
    [i]: tmp[i] = square([j]: v[j]) {id=first}
    [k]: w[k] = square([l]: tmp[l]) {dep=first}
    """,
    [
        lp.GlobalArg("v, w", shape=(9,)),
        lp.TemporaryVariable("tmp", shape=(9,), address_space=lp.AddressSpace.PRIVATE),
    ],
    name="fourth",
    lang_version=(2018, 2),
)
main = lp.make_kernel(
    "{ [p, q]: 0<=p,q<9 }",
    "[p]: out[p] = fourth([q]: a[q])",
    [lp.GlobalArg("a, out", np.float64, shape=(9,))],
    name="main_kernel",
    lang_version=(2018, 2),
)
prog = lp.merge([main, fourth, square])

a = np.arange(9) - 4.0
evt, (out,) = prog(queue, a=cl.array.to_device(queue, a))

RESULTS = {"out": out.get(), "entry": sorted(prog.entrypoints)}
EXPECTED = {"out": a**4, "entry": ["main_kernel"]}
