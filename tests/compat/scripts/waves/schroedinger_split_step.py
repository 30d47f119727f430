"""The kinetic step of a quantum particle: complex stencils in complex64, and the norm as a sum."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 1<=i<n-1 }",
    "psi_new[i] = psi[i] + factor*(psi[i-1] - 2*psi[i] + psi[i+1])",
    [
        lp.GlobalArg("psi,psi_new", np.complex64, shape="n"),
        lp.ValueArg("factor", np.complex64),
        lp.ValueArg("n", np.int32),
    ],
    name="kinetic",
    assumptions="n>=3",
    lang_version=(2018, 2),
)
norm = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "total = sum(i, real(conj(psi[i])*psi[i]))",
    [
        lp.GlobalArg("psi", np.complex64, shape="n"),
        lp.GlobalArg("total", np.float32, shape=()),
        ...,
    ],
    name="norm",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
rng = np.random.default_rng(56)
psi = (rng.normal(size=43) + 1j * rng.normal(size=43)).astype(np.complex64)
new = cl.array.to_device(queue, psi)
knl(queue, psi=cl.array.to_device(queue, psi), psi_new=new, factor=np.complex64(0.1j))
evt, (total,) = norm(queue, psi=new)

expected = psi.copy()
expected[1:-1] += np.complex64(0.1j) * (psi[:-2] - 2 * psi[1:-1] + psi[2:])
RESULTS = {"psi": new.get(), "norm": total.get()}
EXPECTED = {"psi": expected, "norm": np.float32((np.abs(expected) ** 2).sum())}
