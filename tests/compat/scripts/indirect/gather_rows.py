"""Rows of a table gathered by a list; the table has more rows than are asked for."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(2)
table = rng.normal(size=(41, 6)).astype(np.float32)
wanted = rng.integers(0, 41, size=19).astype(np.int32)

knl = lp.make_kernel(
    "{ [i,c]: 0<=i<nwanted and 0<=c<ncols }",
    """
    <> row = wanted[i]  {id=row}
    out[i,c] = table[row, c]
    """,
    [
        lp.GlobalArg("table", shape="nrows, ncols"),
        lp.GlobalArg("wanted,out", shape=lp.auto),
        lp.ValueArg("nrows,ncols,nwanted", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"table": np.float32, "wanted": np.int32})
knl = lp.prioritize_loops(knl, "i,c")
evt, (out,) = knl(
    queue, table=cl.array.to_device(queue, table), wanted=cl.array.to_device(queue, wanted)
)
inner = lp.split_iname(knl, "c", 4, inner_tag="l.0", outer_tag="g.1")
inner = lp.add_inames_to_insn(inner, "c_outer,c_inner", "id:row")
inner = lp.tag_inames(inner, {"i": "g.0"})
evt, (tiled,) = inner(queue, table=table, wanted=wanted)

RESULTS = {"out": out.get(), "tiled": tiled}
EXPECTED = {"out": table[wanted], "tiled": table[wanted]}
