"""A Kronecker product times a vector through its factors: a temporary between two contractions."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.kernel.data import AddressSpace

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(125)
na, nb, count = 4, 3, 15
a = rng.normal(size=(na, na))
b = rng.normal(size=(nb, nb))
x = rng.normal(size=(count, na, nb))

knl = lp.make_kernel(
    "{ [e,i,j,k,l,i2,j2]: 0<=e<count and 0<=i,k,i2<na and 0<=j,l,j2<nb }",
    """
    t[i,j] = sum(l, b[j,l]*x[e,i,l])       {id=inner}
    y[e,i2,j2] = sum(k, a[i2,k]*t[k,j2])   {id=outer, dep=inner}
    """,
    [
        lp.GlobalArg("a,b,x,y", np.float64, shape=lp.auto),
        lp.TemporaryVariable("t", np.float64, shape=(na, nb), address_space=AddressSpace.LOCAL),
        "...",
    ],
    name="kron",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, na=na, nb=nb)
knl = lp.tag_inames(knl, {"e": "g.0", "i": "l.1", "j": "l.0", "i2": "l.1", "j2": "l.0"})
evt, (y,) = knl(
    queue,
    a=cl.array.to_device(queue, a),
    b=cl.array.to_device(queue, b),
    x=cl.array.to_device(queue, x),
)

RESULTS = {"y": y.get()}
EXPECTED = {"y": (x.reshape(count, -1) @ np.kron(a, b).T).reshape(x.shape)}
