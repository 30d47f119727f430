"""Sweeps of Gauss and Seidel, whose order is all: sequential loops in plain C."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [s,i,j]: 0<=s<sweeps and 1<=i,j<n-1 }",
    """
    for s, i, j
        p[i,j] = 0.25*(p[i-1,j] + p[i+1,j] + p[i,j-1] + p[i,j+1] - rhs[i,j])
    end
    """,
    [lp.GlobalArg("p,rhs", np.float64, shape=("n", "n")), lp.ValueArg("sweeps,n", np.int32)],
    name="gauss_seidel",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "s,i,j")
rng = np.random.default_rng(43)
p, rhs = rng.random((2, 9, 9))
q = p.copy()
evt, (p,) = knl(p=p, rhs=rhs, sweeps=4)

for _ in range(4):
    for i in range(1, 8):
        for j in range(1, 8):
            q[i, j] = 0.25 * (q[i - 1, j] + q[i + 1, j] + q[i, j - 1] + q[i, j + 1] - rhs[i, j])
RESULTS = {"p": p}
EXPECTED = {"p": q}
