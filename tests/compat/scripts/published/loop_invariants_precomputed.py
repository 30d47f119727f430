"""A row's weights computed once into private memory: extract_subst, precompute of a rule."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<16 }",
    """
    weight(p) := exp(-z[p]) + 1/(1 + z[p]*z[p])
    out[i,j] = weight(j)*a[i,j]
    """,
    [
        lp.GlobalArg("z", np.float64, shape=(16,)),
        lp.GlobalArg("a,out", np.float64, shape=("n", 16)),
        "...",
    ],
    name="weigh",
    assumptions="n>=1",
    lang_version=(2018, 2),
)
knl = lp.extract_subst(knl, "decay", "exp(-v)", parameters="v")
rules = sorted(knl.default_entrypoint.substitutions)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")
knl = lp.precompute(
    knl,
    "weight",
    ["j"],
    default_tag="l.auto",
    temporary_name="weights",
    precompute_outer_inames=frozenset(["i_outer"]),
)
inames = knl.default_entrypoint.all_inames()
rng = np.random.default_rng(33)
z, a = rng.random(16), rng.random((29, 16))
evt, (out,) = knl(queue, z=z, a=a)

weight = np.exp(-z) + 1 / (1 + z * z)
RESULTS = {
    "out": out,
    "rules": rules,
    "weights": list(knl.default_entrypoint.temporary_variables["weights"].shape),
    "inames kept": sorted({"i_outer", "i_inner", "j"} & inames),
}
EXPECTED = {
    "out": weight * a,
    "rules": ["decay", "weight"],
    "weights": [16],
    "inames kept": ["i_inner", "i_outer", "j"],
}
