"""Rows of a stiffness matrix replaced at boundary nodes: predicates, if-blocks."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    """
    for i
        <> fixed = bc[i] == 1
        for j
            A[i,j] = 1 if i == j else 0 {id=identity, if=fixed}
        end
        b[i] = value[i] {id=rhs, if=fixed, nosync=move}
        if not fixed
            b[i] = b[i] + shift {id=move, nosync=rhs}
        end
    end
    """,
    [
        lp.GlobalArg("A", np.float64, shape="n,n"),
        lp.GlobalArg("b,value", np.float64, shape="n"),
        lp.GlobalArg("bc", np.int8, shape="n"),
        lp.ValueArg("shift", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="dirichlet",
    assumptions="n>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
rng = np.random.default_rng(73)
A, b, value = rng.random((11, 11)), rng.random(11), rng.random(11)
bc = (np.arange(11) % 5 == 0).astype(np.int8)
A_dev, b_dev = cl.array.to_device(queue, A), cl.array.to_device(queue, b)
knl(queue, A=A_dev, b=b_dev, value=value, bc=bc, shift=0.5)

RESULTS = {"A": A_dev.get(), "b": b_dev.get()}
EXPECTED = {
    "A": np.where(bc[:, None] == 1, np.eye(11), A),
    "b": np.where(bc == 1, value, b + 0.5),
}
