"""A shifted difference whose last tile is apart: slabs, unrolling, assume."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n-1 }",
    "d[i] = (u[i+1] - u[i])/h",
    [
        lp.GlobalArg("u", np.float64, shape="n"),
        lp.GlobalArg("d", np.float64, shape="n-1"),
        lp.ValueArg("h", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "n>=2")
plain = knl
knl = lp.split_iname(knl, "i", 8, slabs=(0, 1), inner_tag="unr")
knl = lp.prioritize_loops(knl, "i_outer,i_inner")

u = np.sin(np.linspace(0, 3, 101))
evt, (d,) = knl(u=u, h=0.03)
evt, (d_plain,) = plain(u=u, h=0.03)
evt, (d_two,) = knl(u=u[:2].copy(), h=0.03)

RESULTS = {"with slabs": d, "as written": d_plain, "two points": d_two}
EXPECTED = {
    "with slabs": np.diff(u) / 0.03,
    "as written": np.diff(u) / 0.03,
    "two points": np.diff(u[:2]) / 0.03,
}
