"""C = L diag(d) R by einsum on the host, and the number of its reductions."""

import loopy as lp
import numpy as np

knl = lp.make_einsum("ik,k,kj->ij", ("L", "d", "R"), target=lp.ExecutableCTarget())
knl = lp.add_and_infer_dtypes(knl, {"L": np.float64, "d": np.float64, "R": np.float64})
inner = knl.default_entrypoint
(insn,) = inner.instructions

rng = np.random.default_rng(50)
L, d, R = rng.normal(size=(6, 9)), rng.normal(size=9), rng.normal(size=(9, 4))
evt, (out,) = knl(L=L, d=d, R=R)

RESULTS = {"out": out, "reduced": sorted(insn.reduction_inames())}
EXPECTED = {"out": L @ np.diag(d) @ R, "reduced": ["k"]}
