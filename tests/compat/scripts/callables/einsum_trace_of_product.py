"""The trace of a product of matrices, a norm: einsum without free indices, executed as C."""

import loopy as lp
import numpy as np

knl = lp.make_einsum("ab,bc,ca->", ("p", "q", "r"), target=lp.ExecutableCTarget())
knl = lp.add_dtypes(knl, {"p": np.float64, "q": np.float64, "r": np.float64})

rng = np.random.default_rng(21)
p, q, r = rng.normal(size=(5, 8)), rng.normal(size=(8, 7)), rng.normal(size=(7, 5))
evt, (out,) = knl(p=p, q=q, r=r)

# The same for two factors: the squared norm of a matrix.
norm_knl = lp.make_einsum("ab,ab->", ("p", "same"), target=lp.ExecutableCTarget(), name="norm2")
norm_knl = lp.add_dtypes(norm_knl, {"p": np.float64, "same": np.float64})
evt, (norm2,) = norm_knl(p=p, same=p)

RESULTS = {
    "trace": np.asarray(out).reshape(()),
    "norm2": np.asarray(norm2).reshape(()),
    "loops": sorted(knl.default_entrypoint.all_inames()),
}
EXPECTED = {
    "trace": np.trace(p @ q @ r),
    "norm2": np.linalg.norm(p) ** 2,
    "loops": ["a", "b", "c"],
}
