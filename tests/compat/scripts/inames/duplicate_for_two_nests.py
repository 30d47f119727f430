"""Two instructions in one nest parted by duplicated inames, so that each has its own order."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(83)
a = rng.normal(size=(11, 6))

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<m and 0<=j<n }",
    """
    b[i,j] = a[i,j]**2  {id=square}
    c[j,i] = a[i,j] + 1 {id=plus}
    """,
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"a": np.float64})
knl = lp.duplicate_inames(knl, ["i", "j"], within="id:plus", suffix="_plus")
knl = lp.prioritize_loops(knl, "i,j")
knl = lp.prioritize_loops(knl, "j_plus,i_plus")
knl = lp.add_dependency(knl, "id:plus", "id:square")
within = sorted(knl.default_entrypoint.id_to_insn["plus"].within_inames)
evt, (b, c) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"b": b.get(), "c": c.get(), "within": within}
EXPECTED = {"b": a**2, "c": a.T + 1, "within": ["i_plus", "j_plus"]}
