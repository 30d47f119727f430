"""A collision in moment space: to moments, relaxed one by one, and back, by two small products."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
to_moments = lp.make_einsum("mq,sq->sm", ["M", "f"], name="to_moments")
relax = lp.make_kernel(
    "{ [s,m]: 0<=s<n and 0<=m<5 }",
    "mom[s,m] = mom[s,m] - rate[m]*(mom[s,m] - meq[m]*mom[s,0])",
    [
        lp.GlobalArg("mom", np.float64, shape=("n", 5)),
        lp.GlobalArg("rate,meq", np.float64, shape=(5,)),
        "...",
    ],
    name="relax",
    lang_version=(2018, 2),
)
relax = lp.duplicate_inames(relax, "m", within="writes:mom", suffix="_moment")
relax = lp.for_each_kernel(lp.remove_unused_inames)(relax)
inames = sorted(relax.default_entrypoint.all_inames())
back = lp.make_einsum("qm,sm->sq", ["Minv", "mom"], name="back")
M = np.array(
    [[1, 1, 1, 1, 1], [0, 1, 0, -1, 0], [0, 0, 1, 0, -1], [-4, 1, 1, 1, 1], [0, 1, -1, 1, -1]],
    dtype=float,
)
rate = np.array([0, 0, 0, 1.2, 0.9])
meq = np.array([1, 0, 0, -2 / 3, 0])
f = np.random.default_rng(96).random((14, 5))
M_dev, f_dev = cl.array.to_device(queue, M), cl.array.to_device(queue, f)
evt, (mom,) = to_moments(queue, M=M_dev, f=f_dev)
# The density is read by all moments of a site, and stays as it is: its rate is zero.
relax(queue, mom=mom, rate=rate, meq=meq)
inverse = cl.array.to_device(queue, np.ascontiguousarray(np.linalg.inv(M)))
evt, (g,) = back(queue, Minv=inverse, mom=mom)

m = f @ M.T
m -= rate * (m - meq * m[:, :1])
RESULTS = {"g": g.get(), "inames": inames}
EXPECTED = {"g": m @ np.linalg.inv(M).T, "inames": ["m_moment", "s"]}
