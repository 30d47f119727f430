"""L2 norms of element fields with per-element weights, and their overall maximum, as two sums."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e,i,j,el]: 0<=e,el<ne and 0<=i,j<4 }",
    """
    norm2[e] = det[e]*sum(i, sum(j, u[e,i]*M[i,j]*u[e,j])) {id=norm}
    largest = max(el, norm2[el]) {id=largest, dep=norm}
    """,
    [
        lp.GlobalArg("u", np.float64, shape="ne,4"),
        lp.GlobalArg("M", np.float64, shape="4,4"),
        lp.GlobalArg("det", np.float64, shape="ne"),
        lp.GlobalArg("norm2", np.float64, shape="ne", is_input=False),
        lp.GlobalArg("largest", np.float64, shape=()),
        lp.ValueArg("ne", np.int32),
    ],
    name="norms",
    assumptions="ne>=1",
    options="return_dict",
    lang_version=(2018, 2),
)
rng = np.random.default_rng(67)
u, det = rng.normal(size=(23, 4)), rng.random(23)
M = np.diag([1.0, 2, 3, 4]) + 0.1
evt, found = knl(queue, u=u, M=M, det=det)
realized = lp.realize_reduction(knl, insn_id_filter="norm")
kinds = [type(insn).__name__ for insn in lp.find_instructions(realized, "id:norm*")]

norm2 = det * np.einsum("ei,ij,ej->e", u, M, u)
RESULTS = {
    "norms": found["norm2"],
    "largest": float(found["largest"]),
    "assignments": set(kinds) == {"Assignment"},
}
EXPECTED = {"norms": norm2, "largest": norm2.max(), "assignments": True}
