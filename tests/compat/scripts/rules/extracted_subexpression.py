"""extract_subst finds a common part by its shape; precompute makes it an array."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    p[i] = 3*sqrt(a[i])/b[i] + 1
    q[i] = exp(sqrt(a[i])/b[i])
    """,
    [lp.GlobalArg("a, b, p, q", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    lang_version=(2018, 2),
)
knl = lp.extract_subst(knl, "slope", "sqrt(a[k])/b[k]", parameters=("k",))
names = list(knl.default_entrypoint.substitutions)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.precompute(knl, "slope", "i_inner", default_tag="l.auto")

rng = np.random.default_rng(42)
a, b = rng.uniform(0.5, 1, size=(2, 75))
evt, (p, q) = knl(queue, a=cl.array.to_device(queue, a), b=cl.array.to_device(queue, b))

RESULTS = {"p": p.get(), "q": q.get(), "rules": names}
EXPECTED = {"p": 3 * np.sqrt(a) / b + 1, "q": np.exp(np.sqrt(a) / b), "rules": ["slope"]}
