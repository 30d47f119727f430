"""Determinants of order two and three of a batch, and how many of them are positive."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(120)
n = 45
a2 = rng.normal(size=(n, 2, 2))
a3 = rng.normal(size=(n, 3, 3))

knl = lp.make_kernel(
    "{ [e,f,g]: 0<=e,f,g<n }",
    """
    d2[e] = a2[e,0,0]*a2[e,1,1] - a2[e,0,1]*a2[e,1,0]
    for f
        <> m0 = a3[f,1,1]*a3[f,2,2] - a3[f,1,2]*a3[f,2,1]
        <> m1 = a3[f,1,0]*a3[f,2,2] - a3[f,1,2]*a3[f,2,0]
        <> m2 = a3[f,1,0]*a3[f,2,1] - a3[f,1,1]*a3[f,2,0]
        d3[f] = a3[f,0,0]*m0 - a3[f,0,1]*m1 + a3[f,0,2]*m2  {id=d3}
    end
    positive = sum(g, (1 if d3[g] > 0 else 0))  {dep=d3}
    """,
    [
        lp.GlobalArg("a2", np.float64, shape="n,2,2"),
        lp.GlobalArg("a3", np.float64, shape="n,3,3"),
        lp.GlobalArg("d2,d3", np.float64, shape="n", is_input=False),
        lp.GlobalArg("positive", np.int32, shape=()),
        ...,
    ],
    options=lp.Options(return_dict=True),
    lang_version=(2018, 2),
)
evt, out = knl(queue, a2=a2, a3=a3)

RESULTS = {
    "d2": out["d2"],
    "d3": out["d3"],
    "positive": np.asarray(out["positive"]),
}
EXPECTED = {
    "d2": np.linalg.det(a2),
    "d3": np.linalg.det(a3),
    "positive": np.asarray((np.linalg.det(a3) > 0).sum()),
}
