"""Particles drift and are wrapped into a periodic box; what left the box is counted."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(71)
n = 67
x = rng.uniform(0, 3, size=n)
v = rng.normal(scale=4, size=n)

knl = lp.make_kernel(
    "{ [p,q]: 0<=p,q<n }",
    """
    <> moved = x[p] + v[p]*dt
    <> boxes = floor(moved/length)
    xnew[p] = moved - length*boxes
    image[p] = boxes                       {id=image}
    left = sum(q, (1 if image[q] != 0 else 0))  {dep=image, id=left}
    """,
    [
        lp.GlobalArg("image", np.float64, shape="n", is_input=False),
        lp.GlobalArg("left", np.int32, shape=()),
        lp.ValueArg("dt,length", np.float64),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, x=x, v=v, dt=0.5, length=3.0)

moved = x + 0.5 * v
RESULTS = {"xnew": out["xnew"], "image": out["image"], "left": np.asarray(out["left"])}
EXPECTED = {
    "xnew": moved - 3 * np.floor(moved / 3),
    "image": np.floor(moved / 3),
    "left": np.array((np.floor(moved / 3) != 0).sum()),
}
