"""A kernel from Assignment objects and pymbolic's expressions, instructions found and changed."""

import loopy as lp
import numpy as np
from pymbolic import parse, var

i = var("i")
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    [
        lp.Assignment(
            var("t"),
            var("a")[i] + 1,
            id="shift",
            temp_var_type=lp.Optional(np.float32),
            within_inames=frozenset(["i"]),
        ),
        lp.Assignment(
            var("out")[i],
            parse("t*t"),
            id="square",
            depends_on=frozenset(["shift"]),
            tags=frozenset(["last"]),
        ),
    ],
    [lp.GlobalArg("a,out", np.float32, shape=lp.auto), ...],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
a = np.random.default_rng(10).random(31).astype(np.float32)
evt, (out,) = knl(a=a)


def halve(insn):
    """Divide what an instruction computes by two."""
    return insn.copy(expression=insn.expression / 2)


halved = lp.for_each_kernel(lp.map_instructions)(knl, "tag:last", halve)
evt, (half,) = halved(a=a)
entry = knl.default_entrypoint

RESULTS = {
    "squares": out,
    "halves": half,
    "order": [sorted(insn.depends_on) for insn in entry.instructions],
    "tagged": [insn.id for insn in lp.find_instructions(knl, "tag:last")],
    "temporaries": sorted(entry.temporary_variables),
}
EXPECTED = {
    "squares": (a + 1) ** 2,
    "halves": (a + 1) ** 2 / 2,
    "order": [[], ["shift"]],
    "tagged": ["square"],
    "temporaries": ["t"],
}
