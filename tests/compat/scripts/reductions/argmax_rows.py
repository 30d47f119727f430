"""Where each row has its largest modulus: value and index from one reduction of two results."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(144)
a = rng.normal(size=(11, 37))

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<m and 0<=j<n }",
    "val[i], idx[i] = argmax(j, fabs(a[i,j]), j)",
    [lp.GlobalArg("a", np.float64, shape=lp.auto), "..."],
    name="argmax_rows",
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "m>=1 and n>=1")
knl = lp.tag_inames(knl, {"i": "g.0"})
knl = lp.set_options(knl, return_dict=True, write_code=False)
evt, out = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"val": out["val"].get(), "idx": out["idx"].get()}
EXPECTED = {"val": abs(a).max(axis=1), "idx": abs(a).argmax(axis=1)}
