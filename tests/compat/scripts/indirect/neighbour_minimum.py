"""One sweep of connected components: each vertex takes the least label among its neighbours."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

edges = np.array(
    [[0, 4], [4, 9], [2, 3], [3, 7], [5, 6], [6, 10], [1, 8], [8, 0], [10, 11]], dtype=np.int32
)
nverts = 12
adjacency = np.eye(nverts, dtype=bool)
adjacency[edges[:, 0], edges[:, 1]] = adjacency[edges[:, 1], edges[:, 0]] = True
deg = adjacency.sum(axis=1).astype(np.int32)
nbrs = np.zeros((nverts, deg.max()), dtype=np.int32)
for v in range(nverts):
    nbrs[v, : deg[v]] = np.flatnonzero(adjacency[v])

knl = lp.make_kernel(
    ["{ [v]: 0<=v<nverts }", "[d] -> { [e]: 0<=e<d }"],
    """
    for v
        <> d = deg[v]
        new[v] = reduce(min, e, label[nbrs[v, e]])
    end
    """,
    [
        lp.GlobalArg("deg,label,new", np.int32, shape="nverts"),
        lp.GlobalArg("nbrs", np.int32, shape="nverts, maxdeg"),
        lp.ValueArg("nverts,maxdeg", np.int32),
    ],
    name="sweep",
    lang_version=(2018, 2),
)
knl = lp.split_iname(lp.assume(knl, "nverts>=1"), "v", 4, outer_tag="g.0", inner_tag="l.0")
label = cl.array.arange(queue, nverts, dtype=np.int32)
rounds = 0
while True:
    evt, (new,) = knl(
        queue,
        deg=cl.array.to_device(queue, deg),
        nbrs=cl.array.to_device(queue, nbrs),
        label=label,
    )
    rounds += 1
    if (new.get() == label.get()).all():
        break
    label = new

RESULTS = {"label": label.get(), "several rounds": rounds > 1}
EXPECTED = {"label": np.array([0, 0, 2, 2, 0, 5, 5, 2, 0, 0, 5, 5]), "several rounds": True}
