"""A private value lives across a global barrier: save_and_reload_temporaries."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [g, l]: 0<=g<6 and 0<=l<4 }",
    """
    for g, l
        <float64> mine = 3*x[4*g + l]  {id=own}
        published[4*g + l] = mine + 1  {id=publish, dep=own}
        ... gbarrier {id=bar, dep=publish}
        y[4*g + l] = mine + published[23 - 4*g - l]  {dep=bar}
    end
    """,
    [
        lp.GlobalArg("x, y, published", np.float64, shape=(24,)),
    ],
    seq_dependencies=True,
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"g": "g.0", "l": "l.0"})
knl = lp.set_temporary_address_space(knl, "mine", "private")
scheduled = lp.linearize(lp.preprocess_program(knl))
knl = knl.with_kernel(scheduled.default_entrypoint)
knl = lp.save_and_reload_temporaries(knl)
again = lp.get_one_linearized_kernel(knl.default_entrypoint, knl.callables_table)
knl = knl.with_kernel(again)

x = np.random.default_rng(18).normal(size=24)
published = cl.array.zeros(queue, 24, np.float64)
y = cl.array.zeros(queue, 24, np.float64)
knl(queue, x=cl.array.to_device(queue, x), published=published, y=y)

RESULTS = {"y": y.get(), "published": published.get()}
EXPECTED = {"y": 3 * x + 3 * x[::-1] + 1, "published": 3 * x + 1}
