"""Four passes over one array, each in a loop of its own: seq_dependencies and prioritize_loops."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,j,k,m]: 0<=i,j,k,m<n }",
    """
    w[i] = a[i]**2
    w[j] = w[j] + 3
    out[k] = sqrt(w[k])
    out[m] = out[m] - 1
    """,
    [
        lp.GlobalArg("a,out", np.float64, shape="n"),
        lp.GlobalArg("w", np.float64, shape="n", is_input=False),
        "...",
    ],
    seq_dependencies=True,
    name="passes",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
a = np.random.default_rng(8).random(53)
a_dev = a.copy()
evt, found = lp.set_options(knl, return_dict=True)(a=a_dev, out=np.zeros(53, np.float64))
deps = {insn.id: sorted(insn.depends_on) for insn in knl.default_entrypoint.instructions}

RESULTS = {
    "w": found["w"],
    "out": found["out"],
    "dependencies of the second": len(deps[knl.default_entrypoint.instructions[1].id]),
}
EXPECTED = {"w": a**2 + 3, "out": np.sqrt(a**2 + 3) - 1, "dependencies of the second": 1}
