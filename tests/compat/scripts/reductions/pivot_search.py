"""The pivot of a column: argmax into temporaries, which the next instruction uses as an index."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(145)
a = rng.normal(size=(16, 5))

knl = lp.make_kernel(
    "{ [r,c,c2]: 0<=r<m and 0<=c,c2<n }",
    """
    for c
        <> best, <> where = argmax(r, fabs(a[r,c]), r)
        pivot[c] = a[where, c]
        row[c] = where
    end
    """,
    [lp.GlobalArg("a", np.float64, shape="m,n"), lp.GlobalArg("pivot,row", shape="n"), ...],
    lang_version=(2018, 2),
)
knl = lp.remove_unused_inames(lp.assume(knl, "m>=1 and n>=1"))
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, a=a)

where = abs(a).argmax(axis=0)
RESULTS = {"pivot": out["pivot"], "row": out["row"]}
EXPECTED = {"pivot": a[where, np.arange(5)], "row": where}
