"""The paper's substitution rules: rules of rules, expanded in one place, kept in another."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    f(x) := x*a[x]
    g(x) := 12 + f(x)
    h(x) := 1 + g(x) + 20*g(x)

    a[i] = h(i) * h(i) {id=here}
    """,
    [lp.GlobalArg("a", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    name="rules",
    target=lp.ExecutableCTarget(),
)
rules = sorted(knl.default_entrypoint.substitutions)
one = lp.expand_subst(knl, "id:here")
every = lp.expand_subst(knl)
a = np.random.default_rng(27).random(21)
value = (1 + 21 * (12 + np.arange(21) * a)) ** 2
RESULTS = {
    "rules": rules,
    "rules left": sorted(every.default_entrypoint.substitutions),
}
EXPECTED = {"rules": ["f", "g", "h"], "rules left": []}
for what, kernel in (("as written", knl), ("one", one), ("expanded", every)):
    a_dev = a.copy()
    kernel(a=a_dev)
    RESULTS[what] = a_dev
    EXPECTED[what] = value
