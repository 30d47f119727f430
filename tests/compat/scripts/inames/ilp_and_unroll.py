"""Four rows at a time for each work item (ILP), with the columns of a small table unrolled."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.kernel.data import UnrollTag

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(85)
n = 128
x = rng.normal(size=n)
coeff = rng.normal(size=5)

knl = lp.make_kernel(
    "{ [i,k]: 0<=i<n and 0<=k<5 }",
    """
    <> acc = 0.0              {id=init, inames=i}
    acc = acc*x[i] + coeff[4-k] {id=horner, dep=init, inames=i:k}
    y[i] = acc                {dep=horner, inames=i}
    """,
    [lp.GlobalArg("coeff", np.float64, shape=5), ...],
    assumptions="n mod 64 = 0 and n >= 64",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 64, outer_tag="g.0")
knl = lp.split_iname(knl, "i_inner", 16, outer_tag="ilp", inner_tag="l.0")
knl = lp.tag_inames(knl, {"k": "unr"})
evt, (y,) = knl(queue, x=cl.array.to_device(queue, x), coeff=cl.array.to_device(queue, coeff))

tags = {
    name: bool(knl.default_entrypoint.iname_tags_of_type(name, UnrollTag))
    for name in ("k", "i_outer")
}
RESULTS = {"y": y.get(), "unrolled": tags}
EXPECTED = {"y": np.polynomial.Polynomial(coeff)(x), "unrolled": {"k": True, "i_outer": False}}
