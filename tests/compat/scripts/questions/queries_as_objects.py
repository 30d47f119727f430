"""Queries built from objects of loopy.match; what they find is tagged, then changed."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.match import And, Id, Iname, Not, Or, Reads, Tagged, Writes

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<n }",
    """
    p[i] = 2*q[i] {id=first}
    r[j] = q[j] - s[j] {id=second}
    """,
    [lp.GlobalArg("p, q, r, s", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    lang_version=(2018, 2),
)


def ids(query):
    return sorted(insn.id for insn in lp.find_instructions(knl, query))


found = {
    "reads q": ids(Reads("q")),
    "reads s, not p": ids(And((Reads("s"), Not(Writes("p"))))),
    "one or other": ids(Or((Id("first"), Iname("j")))),
}
knl = lp.tag_instructions(knl, "stage_b", within=Writes("r"))
found["tagged"] = ids(Tagged("stage_b"))
changed = lp.map_instructions(
    knl.default_entrypoint,
    Tagged("stage_b"),
    lambda insn: insn.copy(expression=insn.expression * 10),
)
knl = knl.with_kernel(changed)

rng = np.random.default_rng(1)
q, s = rng.normal(size=(2, 19))
evt, (p, r) = knl(queue, q=cl.array.to_device(queue, q), s=cl.array.to_device(queue, s))

RESULTS = {**found, "p": p.get(), "r": r.get()}
EXPECTED = {
    "reads q": ["first", "second"],
    "reads s, not p": ["second"],
    "one or other": ["first", "second"],
    "tagged": ["second"],
    "p": 2 * q,
    "r": 10 * (q - s),
}
