"""Sums of plane waves: complex numbers on the device, exp of 1j, real and imaginary parts."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, m]: 0<=i<n and 0<=m<5 }",
    """
    <> field = sum(m, amp[m] * exp(1j*k[m]*x[i]))  {id=sum}
    u[i] = field {dep=sum}
    intensity[i] = real(field * conj(field)) {dep=sum}
    phase_part[i] = imag(field) {dep=sum}
    """,
    [
        lp.GlobalArg("amp", np.complex128, shape=(5,)),
        lp.GlobalArg("k", np.float64, shape=(5,)),
        lp.GlobalArg("x", np.float64, shape="n"),
        lp.GlobalArg("u", np.complex128, shape="n"),
        lp.GlobalArg("intensity, phase_part", np.float64, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    options=lp.Options(return_dict=True),
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")

rng = np.random.default_rng(1)
amp = rng.normal(size=5) + 1j * rng.normal(size=5)
k, x = rng.uniform(1, 3, 5), np.linspace(0, 4, 37)
evt, out = knl(
    queue,
    amp=cl.array.to_device(queue, amp),
    k=cl.array.to_device(queue, k),
    x=cl.array.to_device(queue, x),
)

u = np.exp(1j * x[:, None] * k) @ amp
RESULTS = {name: out[name].get() for name in ("u", "intensity", "phase_part")}
EXPECTED = {"u": u, "intensity": np.abs(u) ** 2, "phase_part": u.imag}
