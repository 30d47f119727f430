"""A discrete Fourier transform in single precision: complex64 accumulators, twiddles by rule."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [f, t]: 0<=f,t<31 }",
    """
    twiddle(r) := tw[r % 31]
    spectrum[f] = sum(t, signal[t]*twiddle(f*t))
    """,
    [
        lp.GlobalArg("signal, tw, spectrum", np.complex64, shape=(31,)),
    ],
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"f": "g.0"})

rng = np.random.default_rng(2)
signal = (rng.normal(size=31) + 1j * rng.normal(size=31)).astype(np.complex64)
tw = np.exp(-2j * np.pi * np.arange(31) / 31).astype(np.complex64)
evt, (spectrum,) = knl(
    queue, signal=cl.array.to_device(queue, signal), tw=cl.array.to_device(queue, tw)
)

RESULTS = {"spectrum": spectrum.get(), "dtype": str(spectrum.dtype)}
EXPECTED = {"spectrum": np.fft.fft(signal).astype(np.complex64), "dtype": "complex64"}
