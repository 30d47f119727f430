"""Rules as objects with pymbolic's expressions beside instructions as objects."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from pymbolic import parse, var

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    [
        lp.SubstitutionRule("gauss", ("r",), parse("exp(-r*r/2)")),
        lp.SubstitutionRule("twice", ("s",), 2 * var("s")),
        lp.Assignment("out[i]", parse("twice(gauss(x[i] - 1)) + twice(x[i])"), id="eval"),
    ],
    [lp.GlobalArg("x, out", np.float64, shape="n"), lp.ValueArg("n", np.int64)],
    lang_version=(2018, 2),
)
rules = {rule.name: list(rule.arguments) for rule in knl.default_entrypoint.substitutions.values()}

x = np.linspace(-2, 3, 31)
evt, (out,) = knl(queue, x=cl.array.to_device(queue, x))

RESULTS = {"out": out.get(), "gauss": rules["gauss"], "twice": rules["twice"]}
EXPECTED = {
    "out": 2 * np.exp(-((x - 1) ** 2) / 2) + 2 * x,
    "gauss": ["r"],
    "twice": ["s"],
}
