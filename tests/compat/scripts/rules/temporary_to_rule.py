"""assignment_to_subst: a temporary becomes a rule, and is computed where it is used."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> w = exp(-x[i]*x[i])
    a[i] = w*f[i]
    b[i] = w*g[i]
    """,
    [
        lp.GlobalArg("x, f, g, a, b", np.float64, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.assignment_to_subst(knl, "w")
inner = knl.default_entrypoint

rng = np.random.default_rng(41)
x, f, g = rng.normal(size=(3, 45))
devs = {name: cl.array.to_device(queue, v) for name, v in (("x", x), ("f", f), ("g", g))}
evt, (a, b) = knl(queue, **devs)

RESULTS = {
    "a": a.get(),
    "b": b.get(),
    "temporaries": list(inner.temporary_variables),
    "rules": len(inner.substitutions),
}
EXPECTED = {
    "a": np.exp(-x * x) * f,
    "b": np.exp(-x * x) * g,
    "temporaries": [],
    "rules": 1,
}
