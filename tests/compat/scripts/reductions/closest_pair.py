"""For each point the nearest other one, and then the closest of all pairs, by two argmins."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(165)
n = 25
px, py = rng.random(size=(2, n))

knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i,j,k<n }",
    """
    d2(a, b) := (px[a]-px[b])**2 + (py[a]-py[b])**2
    near[i], who[i] = argmin(j, (10.0 if i == j else d2(i, j)), j)  {id=each}
    best, first = argmin(k, near[k], k)                             {id=all, dep=each}
    """,
    [
        lp.GlobalArg("px,py", np.float64, shape="n"),
        lp.GlobalArg("near", np.float64, shape="n", is_input=False),
        lp.GlobalArg("who", np.int32, shape="n"),
        lp.GlobalArg("best", np.float64, shape=()),
        lp.GlobalArg("first", np.int32, shape=()),
        ...,
    ],
    assumptions="n>=2",
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, px=px, py=py)

d2 = (px[:, None] - px) ** 2 + (py[:, None] - py) ** 2 + 10 * np.eye(n)
RESULTS = {
    "near": out["near"],
    "who": out["who"],
    "best": np.asarray(out["best"]),
    "pair": sorted([int(out["first"]), int(out["who"][int(out["first"])])]),
}
EXPECTED = {
    "near": d2.min(axis=1),
    "who": d2.argmin(axis=1),
    "best": np.asarray(d2.min()),
    "pair": [int(point) for point in np.unravel_index(d2.argmin(), d2.shape)],
}
