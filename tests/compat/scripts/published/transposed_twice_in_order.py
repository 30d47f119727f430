"""Two passes over one output in the paper's order, the second marked by a dependency."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
    """
    out[j,i] = a[i,j] {id=transpose}
    out[ii,jj] = 2*out[ii,jj] {id=double, dep=transpose}
    """,
    [lp.GlobalArg("out", shape=lp.auto, is_input=False), ...],
    name="transpose_and_double",
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "i,j")
knl = lp.prioritize_loops(knl, "ii,jj")
knl = lp.add_dependency(knl, "id:double", "id:transpose")
renamed = lp.rename_inames(knl, ["ii"], "row")
renamed = lp.replace_instruction_ids(renamed.default_entrypoint, {"double": ["twice"]})
a = np.random.default_rng(29).random((24, 24)).astype(np.float32)
evt, (out,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {
    "out": out.get(),
    "priorities": len(knl.default_entrypoint.loop_priority),
    "renamed": sorted(renamed.all_inames()),
}
EXPECTED = {"out": 2 * a.T, "priorities": 2, "renamed": ["i", "j", "jj", "row"]}
