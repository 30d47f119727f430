"""A product with a matrix by columns, for the host: default_order, layouts as tags, plain C."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i<3 and 0<=j<n and 0<=k<4 }",
    "c[i,j] = sum(k, a[i,k]*b[k,j])",
    [
        lp.GlobalArg("a", np.float64, shape=(3, 4), dim_tags="N0,N1"),
        lp.GlobalArg("b", np.float64, shape=(4, "n"), order="C"),
        lp.GlobalArg("c", np.float64, shape=(3, "n"), order="F"),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    name="columns",
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "j,i")
knl = lp.tag_inames(knl, {"i": "unr"})
rng = np.random.default_rng(28)
a = np.asfortranarray(rng.random((3, 4)))
b = rng.random((4, 17))
evt, (c,) = knl(a=a, b=b)

RESULTS = {"c": c, "columns are contiguous": c.flags.f_contiguous}
EXPECTED = {"c": a @ b, "columns are contiguous": True}
