"""Gram matrices of batches of complex vectors, with conjugates and real diagonals."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(129)
nb, m, n = 7, 10, 3
z = rng.normal(size=(nb, m, n)) + 1j * rng.normal(size=(nb, m, n))

knl = lp.make_kernel(
    "{ [b,i,j,k,d]: 0<=b<nb and 0<=i,j,d<n and 0<=k<m }",
    """
    gram[b,i,j] = sum(k, conj(z[b,k,i])*z[b,k,j])  {id=gram}
    norm[b,d] = sqrt(real(gram[b,d,d]))            {dep=gram}
    """,
    [
        lp.GlobalArg("z", np.complex128, shape="nb,m,n"),
        lp.GlobalArg("gram", np.complex128, shape="nb,n,n", is_input=False),
        lp.GlobalArg("norm", np.float64, shape="nb,n"),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, n=n)
knl = lp.tag_inames(knl, [("b", "g.0")])
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(queue, z=cl.array.to_device(queue, z))

RESULTS = {"gram": out["gram"].get(), "norm": out["norm"].get()}
EXPECTED = {
    "gram": z.conj().transpose(0, 2, 1) @ z,
    "norm": np.linalg.norm(z, axis=1),
}
