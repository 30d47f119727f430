"""The dependencies of a diamond of instructions, and the graph of them in Graphviz's language."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> top = a[i] {id=top}
    <> left = top + 1 {id=left, dep=top}
    <> right = top*2 {id=right, dep=top}
    b[i] = left*right {id=bottom, dep=left:right}
    """,
    [lp.GlobalArg("a, b", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    name="diamond",
    lang_version=(2018, 2),
)
knl = lp.add_dependency(knl, "id:right", "id:left")
inner = knl.default_entrypoint
dot = lp.get_dot_dependency_graph(inner, knl.callables_table, use_insn_id=True)
depends = {insn.id: sorted(insn.depends_on) for insn in inner.instructions}

a = np.linspace(0, 1, 23)
evt, (b,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"depends": depends, "dot": dot.strip().startswith("digraph"), "b": b.get()}
EXPECTED = {
    "depends": {
        "top": [],
        "left": ["top"],
        "right": ["left", "top"],
        "bottom": ["left", "right"],
    },
    "dot": True,
    "b": (a + 1) * 2 * a,
}
