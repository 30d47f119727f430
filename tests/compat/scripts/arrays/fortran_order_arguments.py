"""Arguments in Fortran's order by order="F"; NumPy arrays laid out the same way, on the host."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, j]: 0<=i<m and 0<=j<n }",
    "b[j, i] = a[i, j] - shift[j]",
    [
        lp.GlobalArg("a", np.float64, shape=("m", "n"), order="F"),
        lp.GlobalArg("shift", np.float64, shape=("n",)),
        lp.GlobalArg("b", np.float64, shape=("n", "m"), order="F"),
        lp.ValueArg("m, n", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
rng = np.random.default_rng(1)
a = np.asfortranarray(rng.normal(size=(7, 5)))
shift = rng.normal(size=5)
evt, (b,) = knl(a=a, shift=shift)

RESULTS = {"b": b, "strides": list(b.strides)}
EXPECTED = {"b": (a - shift).T, "strides": [8, 40]}
