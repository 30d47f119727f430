"""The first position of each key in a list, as a minimum over what matches."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(22)
haystack = rng.integers(0, 15, size=97).astype(np.int32)
keys = np.arange(-1, 17, dtype=np.int32)

knl = lp.make_kernel(
    "{ [k,i]: 0<=k<nkeys and 0<=i<n }",
    "first[k] = min(i, (i if haystack[i] == keys[k] else n))",
    [
        lp.GlobalArg("haystack,keys", np.int32, shape=lp.auto),
        lp.ValueArg("n,nkeys", np.int32),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"k": "g.0"})
evt, (first,) = knl(
    queue, haystack=cl.array.to_device(queue, haystack), keys=cl.array.to_device(queue, keys)
)

expected = [
    int(np.flatnonzero(haystack == key)[0]) if key in haystack else haystack.size for key in keys
]
RESULTS = {"first": first.get()}
EXPECTED = {"first": np.array(expected)}
