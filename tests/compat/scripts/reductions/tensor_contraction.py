"""A tensor of three axes contracted with two matrices by an einsum, one axis after the other."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(170)
t = rng.normal(size=(4, 5, 6))
u = rng.normal(size=(6, 3))
v = rng.normal(size=(5, 7))

first = lp.make_einsum("ijk,kl->ijl", ("T", "U"), name="first")
second = lp.make_einsum("ijl,jm->ilm", ("S", "V"), name="second")
both = lp.make_einsum("ijk,kl,jm->ilm", ("T", "U", "V"), name="both")
first = lp.add_dtypes(first, {"T": np.float64, "U": np.float64})
second = lp.add_dtypes(second, {"S": np.float64, "V": np.float64})
both = lp.add_dtypes(both, {"T": np.float64, "U": np.float64, "V": np.float64})
both = lp.tag_inames(both, {"i": "g.0", "l": "l.1", "m": "l.0"})
t_dev, u_dev, v_dev = (cl.array.to_device(queue, ary) for ary in (t, u, v))
evt, (s,) = first(queue, T=t_dev, U=u_dev)
evt, (stepwise,) = second(queue, S=s, V=v_dev)
evt, (at_once,) = both(queue, T=t_dev, U=u_dev, V=v_dev)

expected = np.einsum("ijk,kl,jm->ilm", t, u, v)
RESULTS = {
    "stepwise": stepwise.get(),
    "at once": at_once.get(),
    "name": both.default_entrypoint.name,
}
EXPECTED = {"stepwise": expected, "at once": expected, "name": "both"}
