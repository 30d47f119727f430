"""Batches in a sequential loop, the weights shared: a stencil over trials, in C."""

import loopy as lp
import numpy as np

rng = np.random.default_rng(101)
xs = rng.normal(size=(6, 9))
w = rng.uniform(1, 2, size=9)

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<9 and 1<=j<8 }",
    """
    y[i] = w[i]*x[i]                        {id=weigh}
    z[j] = y[j-1] - 2*y[j] + y[j+1]         {dep=weigh}
    """,
    [
        lp.GlobalArg("x,w", np.float64, shape=9),
        lp.GlobalArg("y,z", np.float64, shape=9, is_input=False),
    ],
    name="trials",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
knl = lp.to_batched(knl, 6, ["x", "y", "z"], batch_iname_prefix="trial", sequential=True)
knl = lp.set_options(knl, return_dict=True)
inner = knl["trials"]
evt, out = knl(x=xs, w=w, z=np.zeros((6, 9)))

RESULTS = {
    "y": out["y"],
    "z": out["z"][:, 1:-1],
    "batched": sorted(name for name in inner.all_inames() if name.startswith("trial")),
    "axes": [len(inner.arg_dict[name].shape) for name in "xwz"],
}
EXPECTED = {
    "y": xs * w,
    "z": np.diff(xs * w, n=2, axis=1),
    "batched": ["trial"],
    "axes": [2, 1, 2],
}
