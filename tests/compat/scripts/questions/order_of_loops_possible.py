"""Whether loops nest, and which duplication helps: get_iname_duplication_options."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i<n and 0<=j<n }",
    """
    for i
        a[i] = i {id=rows}
    end
    for j
        b[j] = 2*j {id=columns}
    end
    for i, j
        c[i, j] = i + 10*j {id=both}
    end
    """,
    [
        lp.GlobalArg("a, b", np.int32, shape="n"),
        lp.GlobalArg("c", np.int32, shape=("n", "n")),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
before = lp.has_schedulable_iname_nesting(knl)
options = list(lp.get_iname_duplication_options(knl))
iname, within = options[0]
knl = lp.duplicate_inames(knl, iname, within)
after = lp.has_schedulable_iname_nesting(knl)

knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, n=7)

n = np.arange(7)
RESULTS = {"before": before, "after": after, **{name: out[name].get() for name in "abc"}}
EXPECTED = {"before": False, "after": True, "a": n, "b": 2 * n, "c": n[:, None] + 10 * n}
