"""C = L diag(d) R by einsum on the host, and what it sums over."""

import loopy as lp
import numpy as np

knl = lp.make_einsum("ik,k,kj->ij", ("L", "d", "R"), target=lp.ExecutableCTarget())
knl = lp.add_and_infer_dtypes(knl, {"L": np.float64, "d": np.float64, "R": np.float64})
inner = knl.default_entrypoint
(insn,) = inner.instructions

rng = np.random.default_rng(50)
L, d, R = rng.normal(size=(6, 9)), rng.normal(size=9), rng.normal(size=(9, 4))
evt, (out,) = knl(L=L, d=d, R=R)

evt, (again,) = lp.prioritize_loops(knl, "j,i")(L=L, d=-d, R=R)

RESULTS = {
    "out": out,
    "again": again,
    "reduced": sorted(insn.reduction_inames()),
    "args": [arg.name for arg in inner.args if isinstance(arg, lp.ArrayArg)],
}
EXPECTED = {
    "out": L @ np.diag(d) @ R,
    "again": -(L @ np.diag(d) @ R),
    "reduced": ["k"],
    "args": ["L", "R", "d", "out"],
}
