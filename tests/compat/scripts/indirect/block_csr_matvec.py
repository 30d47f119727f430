"""A block-sparse matrix (blocks of three by three) times a vector, rows of blocks in parallel."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(46)
nb, bs = 11, 3
pattern = (rng.random((nb, nb)) < 0.25) | np.eye(nb, dtype=bool)
indptr = np.concatenate([[0], np.cumsum(pattern.sum(axis=1))]).astype(np.int32)
indices = np.nonzero(pattern)[1].astype(np.int32)
blocks = rng.normal(size=(indices.size, bs, bs))
x = rng.normal(size=(nb, bs))

knl = lp.make_kernel(
    [
        "{ [ib]: 0<=ib<nb }",
        "{ [r,c]: 0<=r,c<bs }",
        "[j0,j1] -> { [j]: j0<=j<j1 }",
    ],
    """
    for ib
        <> j0 = indptr[ib]
        <> j1 = indptr[ib+1]
        for r
            y[ib, r] = sum([j,c], blocks[j, r, c]*x[indices[j], c])
        end
    end
    """,
    [
        lp.GlobalArg("indptr", np.int32, shape="nb+1"),
        lp.GlobalArg("indices", np.int32, shape="nnzb"),
        lp.GlobalArg("blocks", np.float64, shape="nnzb,bs,bs"),
        lp.GlobalArg("x,y", np.float64, shape="nb,bs"),
        lp.ValueArg("nb,bs,nnzb", np.int32),
    ],
    assumptions="nb>=1 and bs>=1",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, bs=bs)
knl = lp.tag_inames(knl, {"ib": "g.0", "r": "l.0", "c": "unr"})
knl = lp.add_inames_to_insn(knl, "r", "writes:j0 or writes:j1")
evt, (y,) = knl(queue, indptr=indptr, indices=indices, blocks=blocks, x=x)

dense = np.zeros((nb, bs, nb, bs))
for row in range(nb):
    for j in range(indptr[row], indptr[row + 1]):
        dense[row, :, indices[j], :] = blocks[j]
RESULTS = {"y": y}
EXPECTED = {"y": np.einsum("aibj,bj->ai", dense, x)}
