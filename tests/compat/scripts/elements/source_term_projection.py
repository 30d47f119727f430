"""Load vectors by quadrature: a function of the point as a callable kernel, called per element."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
source = lp.make_function(
    "{ [q]: 0<=q<4 }",
    """
    f[q] = 1 + t[q]*t[q]
    """,
    [lp.GlobalArg("f", shape=(4,)), lp.GlobalArg("t", shape=(4,))],
    name="source_at",
    lang_version=(2018, 2),
)
knl = lp.make_kernel(
    "{ [e,i,q,a]: 0<=e<ne and 0<=i<2 and 0<=q,a<4 }",
    """
    for e
        [a]: vals[e,a] = source_at([a]: t[e,a]) {id=call}
        load[e,i] = h[e]*sum(q, phi[i,q]*w[q]*vals[e,q]) {id=load, dep=call}
    end
    """,
    [
        lp.GlobalArg("t", np.float64, shape=("ne", 4)),
        lp.GlobalArg("vals", np.float64, shape=("ne", 4), is_input=False),
        lp.GlobalArg("load", np.float64, shape=("ne", 2)),
        lp.GlobalArg("h", np.float64, shape="ne"),
        lp.GlobalArg("phi", np.float64, shape=(2, 4)),
        lp.GlobalArg("w", np.float64, shape=(4,)),
        ...,
    ],
    name="project",
    lang_version=(2018, 2),
)
prog = lp.merge([knl, source])
inlined = lp.inline_callable_kernel(prog, "source_at")
points, weights = np.polynomial.legendre.leggauss(4)
phi = np.stack([(1 - points) / 2, (1 + points) / 2])
h = np.linspace(0.5, 1, 9)
t = np.arange(9.0)[:, None] + h[:, None] * points
args = {"t": t, "h": h, "phi": phi, "w": weights}
RESULTS, EXPECTED = {}, {}
for what, merged in (("called", prog), ("inlined", inlined)):
    program = lp.set_options(merged, return_dict=True)
    evt, found = program(queue, **{k: cl.array.to_device(queue, v) for k, v in args.items()})
    RESULTS[what] = found["load"].get()
    EXPECTED[what] = h[:, None] * ((1 + t * t) * weights) @ phi.T
