"""Batches in a sequential loop around a kernel with a temporary, which varies with the batch."""

import loopy as lp
import numpy as np

rng = np.random.default_rng(101)
xs = rng.normal(size=(6, 9))

knl = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    """
    <> total = 0.0             {id=zero}
    total = total + x[i]       {id=total, dep=zero}
    y[j] = x[j] - total / n    {id=centre, dep=total}
    """,
    [lp.GlobalArg("x,y", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    name="centre",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
knl = lp.to_batched(knl, 6, ["x", "y"], batch_iname_prefix="trial", sequential=True)
inner = knl["centre"]
evt, (y,) = knl(x=xs)

RESULTS = {
    "y": y,
    "batched": sorted(name for name in inner.all_inames() if name.startswith("trial")),
    "axes": len(inner.arg_dict["x"].shape),
}
EXPECTED = {
    "y": xs - xs.mean(axis=1)[:, None],
    "batched": ["trial"],
    "axes": 2,
}
