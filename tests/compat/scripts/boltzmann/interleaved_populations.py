"""One collision on populations by direction and by site: tag_array_axes."""

import loopy as lp
import numpy as np

base = lp.make_kernel(
    "{ [s,q,p]: 0<=s<n and 0<=q,p<3 }",
    """
    <> rho = sum(p, f[s,p])
    g[s,q] = (1 - omega)*f[s,q] + omega*w[q]*rho
    """,
    [
        lp.GlobalArg("f,g", np.float64, shape="n,3"),
        lp.GlobalArg("w", np.float64, shape=(3,)),
        lp.ValueArg("omega", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="relax",
    assumptions="n>=1",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
by_direction = lp.tag_array_axes(base, "f,g", "stride:1,stride:n")
separate = lp.tag_array_axes(base, "f", "N0,N1")
f = np.random.default_rng(98).random((26, 3))
w = np.array([0.5, 0.25, 0.25])
expected = 0.3 * f + 0.7 * w * f.sum(axis=1, keepdims=True)
RESULTS, EXPECTED = {}, {}
for what, knl, order in (
    ("by site", base, "C"),
    ("by direction", by_direction, "F"),
    ("mixed", separate, "F"),
):
    rows = lp.prioritize_loops(knl, "s,q")
    evt, (g,) = rows(f=np.asarray(f, order=order), w=w, omega=0.7)
    RESULTS[what] = g
    EXPECTED[what] = expected
