"""Names of rules by patterns: find_rules_matching, find_one_rule_matching, then expansion."""

import loopy as lp
import numpy as np
from loopy.transform.subst import find_one_rule_matching, find_rules_matching

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    flux_left(k) := q[k]*v
    flux_right(k) := q[k+1]*v
    source(k) := s0 - q[k]
    r[i] = flux_left(i) - flux_right(i) + source(i)
    """,
    [
        lp.GlobalArg("q", np.float64, shape="n+1"),
        lp.GlobalArg("r", np.float64, shape="n"),
        lp.ValueArg("v, s0", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
inner = knl.default_entrypoint
fluxes = sorted(find_rules_matching(inner, "flux_*"))
one = find_one_rule_matching(knl, "sour*")
knl = lp.expand_subst(knl)

q = np.random.default_rng(18).normal(size=20)
evt, (r,) = knl(q=q, v=2.0, s0=0.5)

RESULTS = {"fluxes": fluxes, "source": one, "r": r}
EXPECTED = {
    "fluxes": ["flux_left", "flux_right"],
    "source": "source",
    "r": 2 * (q[:-1] - q[1:]) + 0.5 - q[:-1],
}
