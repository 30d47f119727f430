"""Rules with if(...): a Huber loss and its derivative, evaluated in double on the device."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    resid(k) := obs[k] - model[k]
    huber(r) := if(fabs(r) < delta, 0.5*r*r, delta*(fabs(r) - 0.5*delta))
    slope(r) := if(r > delta, delta, if(r < -delta, -delta, r))
    loss[i] = huber(resid(i))
    deriv[i] = slope(resid(i))
    """,
    [
        lp.GlobalArg("obs, model, loss, deriv", np.float64, shape="n"),
        lp.ValueArg("delta", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, "return_dict")
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0", slabs=(0, 1))

rng = np.random.default_rng(30)
obs, model = rng.normal(size=(2, 83))
evt, out = knl(
    queue,
    obs=cl.array.to_device(queue, obs),
    model=cl.array.to_device(queue, model),
    delta=0.7,
)

r = obs - model
RESULTS = {"loss": out["loss"].get(), "deriv": out["deriv"].get()}
EXPECTED = {
    "loss": np.where(np.abs(r) < 0.7, r * r / 2, 0.7 * (np.abs(r) - 0.35)),
    "deriv": np.clip(r, -0.7, 0.7),
}
