"""A reduction turned into instructions: its update is found, and the kernel computes the same."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(168)
a = rng.normal(size=(6, 15))

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<m and 0<=k<n }",
    "out[i] = 1 + sum(k, a[i,k]) {id=store}",
    [lp.GlobalArg("a", np.float64, shape="m,n"), lp.GlobalArg("out", np.float64, shape="m"), ...],
    name="realized",
    assumptions="m>=1 and n>=0",
    lang_version=(2018, 2),
)
done = lp.realize_reduction(knl)
insns = done["realized"].instructions
updates = [insn for insn in insns if "k" in insn.within_inames]
evt, (before,) = knl(queue, a=cl.array.to_device(queue, a))
evt, (after,) = done(queue, a=cl.array.to_device(queue, a))

RESULTS = {
    "before": before.get(),
    "after": after.get(),
    "instructions": len(insns),
    "updates": len(updates),
    "reads a": all("a" in insn.read_dependency_names() for insn in updates),
}
EXPECTED = {
    "before": 1 + a.sum(axis=1),
    "after": 1 + a.sum(axis=1),
    "instructions": 3,
    "updates": 1,
    "reads a": True,
}
