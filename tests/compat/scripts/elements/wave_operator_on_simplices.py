"""Second derivatives by two sums within each other: nested reductions."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e,i,j,k]: 0<=e<ne and 0<=i,j,k<6 }",
    """
    du(e_, j_) := sum(k, D[j_,k]*u[e_,k])
    r[e,i] = sum(j, D[i,j]*du(e, j))
    """,
    [
        lp.GlobalArg("u,r", np.float64, shape=("ne", 6)),
        lp.GlobalArg("D", np.float64, shape=(6, 6)),
        lp.ValueArg("ne", np.int32),
    ],
    name="second_derivative",
    assumptions="ne>=1",
    lang_version=(2018, 2),
)
nested = lp.expand_subst(knl)
stored = lp.precompute(
    knl,
    "du",
    ["j"],
    default_tag=None,
    temporary_name="first_derivative",
    precompute_outer_inames=frozenset(["e"]),
)
stored = lp.tag_inames(stored, {"e": "g.0"})
temporary = stored.default_entrypoint.temporary_variables["first_derivative"]
rng = np.random.default_rng(79)
u, D = rng.random((8, 6)), rng.random((6, 6))
evt, (r_nested,) = nested(queue, u=u, D=D)
evt, (r_stored,) = stored(queue, u=u, D=D)

expected = u @ (D @ D).T
RESULTS = {"nested": r_nested, "stored": r_stored, "shape": list(temporary.shape)}
EXPECTED = {"nested": expected, "stored": expected, "shape": [6]}
