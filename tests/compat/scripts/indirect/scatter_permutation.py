"""The inverse of a permutation by a scatter, then both ways applied: values come back."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(31)
n = 61
perm = rng.permutation(n).astype(np.int32)
a = rng.normal(size=n)

knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i,j,k<n }",
    """
    inv[perm[i]] = i               {id=invert}
    moved[j] = a[perm[j]]          {id=move}
    back[k] = moved[inv[k]]        {id=back, dep=invert:move}
    """,
    [
        lp.GlobalArg("inv", np.int32, shape="n", is_input=False),
        lp.GlobalArg("moved", np.float64, shape="n", is_input=False),
        lp.GlobalArg("perm", np.int32, shape="n"),
        lp.GlobalArg("a", np.float64, shape="n"),
        ...,
    ],
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, perm=cl.array.to_device(queue, perm), a=cl.array.to_device(queue, a))

RESULTS = {name: out[name].get() for name in ("inv", "moved", "back")}
EXPECTED = {"inv": np.argsort(perm), "moved": a[perm], "back": a}
