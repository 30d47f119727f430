"""Exponentials of small matrices by their series, with the powers kept in a private array."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(130)
nb, n = 9, 3
a = rng.normal(size=(nb, n, n)) * 0.2

knl = lp.make_kernel(
    [
        "{ [b]: 0<=b<nb }",
        "{ [t]: 1<=t<16 }",
        "{ [i0,j0,i1,j1,k,i2,j2,i3,j3]: 0<=i0,j0,i1,j1,k,i2,j2,i3,j3<3 }",
    ],
    """
    for b
        <> term[i0,j0] = (1.0 if i0 == j0 else 0.0)         {id=t0}
        res[b,i0,j0] = (1.0 if i0 == j0 else 0.0)           {id=r0}
        for t
            <> next[i1,j1] = sum(k, term[i1,k]*a[b,k,j1])/t  {id=next, dep=t0}
            term[i2,j2] = next[i2,j2]                        {id=t1, dep=next:t0}
            res[b,i3,j3] = res[b,i3,j3] + next[i3,j3]        {id=r1, dep=r0:next}
        end
    end
    """,
    [
        lp.GlobalArg("a", np.float64, shape="nb,3,3"),
        lp.GlobalArg("res", np.float64, shape="nb,3,3", is_input=False),
        "...",
    ],
    name="expm",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(lp.assume(knl, "nb>=1"), {"b": "g.0"})
evt, (res,) = knl(queue, a=cl.array.to_device(queue, a))

value, vector = np.linalg.eig(a)
expected = (vector * np.exp(value)[:, None, :] @ np.linalg.inv(vector)).real
RESULTS = {"res": res.get()}
EXPECTED = {"res": expected}
