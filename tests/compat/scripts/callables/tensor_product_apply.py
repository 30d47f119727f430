"""Applies a small operator along both axes of a grid: one function, two shapes of slices."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
apply = lp.make_function(
    "{ [i, j]: 0<=i,j<5 }",
    "v[i] = sum(j, A[i, j]*u[j])",
    [lp.GlobalArg("A", shape=(5, 5)), lp.GlobalArg("u, v", shape=(5,))],
    name="apply1d",
)
knl = lp.make_kernel(
    "{ [x, y, a, b, c, d, a2, b2, c2, d2]: 0<=x,y,a,b,c,d,a2,b2,c2,d2<5 }",
    """
    for x
        [a]: partial[x, a] = apply1d([b, c]: A[b, c], [d]: u[x, d])  {id=rows}
    end
    for y
        [a2]: out[a2, y] = apply1d([b2, c2]: A[b2, c2], [d2]: partial[d2, y])  {dep=rows}
    end
    """,
    [
        lp.GlobalArg("A, u, out", np.float64, shape=(5, 5)),
        lp.TemporaryVariable("partial", np.float64, shape=(5, 5)),
    ],
)
knl = lp.merge([knl, apply])
knl = lp.inline_callable_kernel(knl, "apply1d")

rng = np.random.default_rng(77)
A, u = rng.normal(size=(5, 5)), rng.normal(size=(5, 5))
evt, (out,) = knl(queue, A=cl.array.to_device(queue, A), u=cl.array.to_device(queue, u))

RESULTS = {"out": out.get(), "entrypoints": len(knl.entrypoints)}
EXPECTED = {"out": A @ u @ A.T, "entrypoints": 1}
