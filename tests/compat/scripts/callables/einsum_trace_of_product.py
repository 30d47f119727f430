"""The trace of a product of three matrices: einsum without free indices, executed as C."""

import loopy as lp
import numpy as np

knl = lp.make_einsum("ab,bc,ca->", ("p", "q", "r"), target=lp.ExecutableCTarget())
knl = lp.add_dtypes(knl, {"p": np.float64, "q": np.float64, "r": np.float64})

rng = np.random.default_rng(21)
p, q, r = rng.normal(size=(5, 8)), rng.normal(size=(8, 7)), rng.normal(size=(7, 5))
evt, (out,) = knl(p=p, q=q, r=r)

RESULTS = {"trace": np.asarray(out).reshape(())}
EXPECTED = {"trace": np.trace(p @ q @ r)}
