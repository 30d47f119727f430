"""A signal times a rotating phase: exp, real, imag, conj and abs of complex numbers."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> turned = z[i]*exp(omega*i)
    out[i] = turned
    mag[i] = abs(turned)
    back[i] = conj(turned)
    re[i] = real(turned)
    im[i] = imag(turned)
    """,
    [
        lp.GlobalArg("z", np.complex128, shape="n"),
        lp.ValueArg("omega", np.complex128),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)
rng = np.random.default_rng(12)
z = rng.normal(size=47) + 1j * rng.normal(size=47)
evt, found = knl(queue, z=cl.array.to_device(queue, z), omega=0.1j)

turned = z * np.exp(0.1j * np.arange(47))
RESULTS = {name: found[name].get() for name in ("out", "mag", "back", "re", "im")}
EXPECTED = {
    "out": turned,
    "mag": np.abs(turned),
    "back": np.conj(turned),
    "re": turned.real,
    "im": turned.imag,
}
