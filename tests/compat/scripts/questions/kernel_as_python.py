"""A transformed kernel is written as a Python script, which makes the same kernel again."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i<n and 0<=j<=i }",
    "tri[i] = sum(j, w[i, j]) {id=row_sum}",
    [
        lp.GlobalArg("w", np.float64, shape=("n", "n")),
        lp.GlobalArg("tri", np.float64, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    name="lower_sums",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
script = lp.t_unit_to_python(knl, var_name="again")
names = {}
exec(script, names)  # noqa: S102
again = names["again"]

w = np.random.default_rng(5).normal(size=(14, 14))
evt, (tri,) = again(queue, w=cl.array.to_device(queue, w))

RESULTS = {"tri": tri.get(), "name": again.default_entrypoint.name}
EXPECTED = {"tri": np.tril(w).sum(axis=1), "name": "lower_sums"}
