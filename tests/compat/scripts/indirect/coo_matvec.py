"""A sparse matrix in coordinates times a vector, one work item for each entry."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(12)
nnz, nrows, ncols = 101, 17, 23
rows = rng.integers(0, nrows, size=nnz).astype(np.int32)
cols = rng.integers(0, ncols, size=nnz).astype(np.int32)
vals = rng.integers(-5, 6, size=nnz).astype(np.int32)
x = rng.integers(-5, 6, size=ncols).astype(np.int32)

knl = lp.make_kernel(
    "{ [e]: 0<=e<nnz }",
    "y[rows[e]] = y[rows[e]] + vals[e]*x[cols[e]] {atomic, id=update}",
    [
        lp.GlobalArg("rows,cols,vals", np.int32, shape="nnz"),
        lp.GlobalArg("x", np.int32, shape="ncols"),
        lp.GlobalArg("y", np.int32, shape="nrows", for_atomic=True),
        lp.ValueArg("nnz,nrows,ncols", np.int32),
    ],
    name="coo",
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "nnz>=1")
knl = lp.split_iname(knl, "e", 32)
knl = lp.tag_inames(knl, "e_outer:g.0, e_inner:l.0")
evt, (y,) = knl(queue, rows=rows, cols=cols, vals=vals, x=x, y=np.zeros(nrows, np.int32))

expected = np.zeros(nrows, dtype=np.int32)
np.add.at(expected, rows, vals * x[cols])
RESULTS = {"y": y, "id": [insn.id for insn in knl["coo"].instructions]}
EXPECTED = {"y": expected, "id": ["update"]}
