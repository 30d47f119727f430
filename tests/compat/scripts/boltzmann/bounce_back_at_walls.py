"""Half-way bounce back where a mask says wall: opposite directions from a table."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [q,x,y]: 0<=q<5 and 1<=x<nx-1 and 1<=y<ny-1 }",
    """
    for x, y
        if solid[x,y] == 0
            for q
                <> from_wall = solid[x - cx[q], y - cy[q]] > 0 {id=wall}
                g[q,x,y] = f[opp[q],x,y] if from_wall else f[q, x - cx[q], y - cy[q]] {dep=wall}
            end
        end
    end
    """,
    [
        lp.GlobalArg("f,g", np.float64, shape="5,nx,ny"),
        lp.GlobalArg("solid", np.int32, shape="nx,ny"),
        lp.GlobalArg("cx,cy,opp", np.int32, shape="5"),
        lp.ValueArg("nx,ny", np.int32),
    ],
    name="bounce",
    assumptions="nx>=3 and ny>=3",
    options=lp.Options(enforce_array_accesses_within_bounds="no_check"),
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "x,y,q")
knl = lp.tag_inames(knl, {"x": "g.0"})
cx, cy, opp = np.array([[0, 1, 0, -1, 0], [0, 0, 1, 0, -1], [0, 3, 4, 1, 2]], dtype=np.int32)
rng = np.random.default_rng(94)
f = rng.random((5, 9, 10))
solid = (rng.random((9, 10)) < 0.3).astype(np.int32)
g = cl.array.zeros(queue, f.shape, np.float64)
knl(queue, f=f, g=g, solid=solid, cx=cx.copy(), cy=cy.copy(), opp=opp.copy())

expected = np.zeros_like(f)
for x in range(1, 8):
    for y in range(1, 9):
        if solid[x, y]:
            continue
        for q in range(5):
            there = x - cx[q], y - cy[q]
            expected[q, x, y] = f[opp[q], x, y] if solid[there] else f[(q, *there)]
RESULTS = {"after the walls": g.get()}
EXPECTED = {"after the walls": expected}
