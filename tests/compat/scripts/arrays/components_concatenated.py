"""Two temporaries become one array by concatenate_arrays; the result stays."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j, k]: 0<=i,j,k<6 }",
    """
    re[i] = cos(phi[i])  {id=re}
    im[j] = sin(phi[j])  {id=im}
    out[k] = re[k]*re[5-k] - im[k]*im[5-k]  {dep=re:im}
    """,
    [
        lp.GlobalArg("phi, out", np.float64, shape=(6,)),
        lp.TemporaryVariable("re", np.float64, shape=(6,)),
        lp.TemporaryVariable("im", np.float64, shape=(6,)),
    ],
    lang_version=(2018, 2),
)
knl = lp.concatenate_arrays(knl, ["re", "im"], new_name="both")
both = knl.default_entrypoint.temporary_variables["both"]

phi = np.linspace(0, 3, 6)
evt, (out,) = knl(queue, phi=cl.array.to_device(queue, phi))

RESULTS = {"out": out.get(), "length": list(both.shape)}
EXPECTED = {"out": np.cos(phi + phi[::-1]), "length": [12]}
