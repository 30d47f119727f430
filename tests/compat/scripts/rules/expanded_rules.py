"""expand_subst removes the rules; what is executed stays: Horner's scheme by nested rules."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    h0(z) := c3
    h1(z) := h0(z)*z + c2
    h2(z) := h1(z)*z + c1
    h3(z) := h2(z)*z + c0
    val[i] = h3(t[i])
    """,
    [
        lp.GlobalArg("t, val", np.float64, shape="n"),
        lp.ValueArg("c0, c1, c2, c3", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
before = len(knl.default_entrypoint.substitutions)
knl = lp.expand_subst(knl)
after = len(knl.default_entrypoint.substitutions)

t = np.linspace(-1, 1, 41)
evt, (val,) = knl(t=t, c0=1.0, c1=-2.0, c2=0.5, c3=3.0)

RESULTS = {"val": val, "rules": [before, after]}
EXPECTED = {"val": np.polyval([3.0, 0.5, -2.0, 1.0], t), "rules": [4, 0]}
