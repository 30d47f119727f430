"""Steps of PageRank over a list of incoming links, the loop over steps on the host."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(47)
n = 29
links = (rng.random((n, n)) < 0.2) | np.eye(n, k=1, dtype=bool) | np.eye(n, k=1 - n, dtype=bool)
into = [np.flatnonzero(links[:, k]) for k in range(n)]
starts = np.concatenate([[0], np.cumsum([len(s) for s in into])]).astype(np.int32)
sources = np.concatenate(into).astype(np.int32)
outdeg = links.sum(axis=1).astype(np.int32)

knl = lp.make_kernel(
    ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<indeg }"],
    """
    for i
        <> s = starts[i]
        <> indeg = starts[i+1] - s
        <> flow = sum(k, rank[sources[s+k]] / outdeg[sources[s+k]])
        new_rank[i] = (1-damping)/n + damping*flow
    end
    """,
    [
        lp.GlobalArg("starts", np.int32, shape="n+1"),
        lp.GlobalArg("sources", np.int32, shape="nlinks"),
        lp.GlobalArg("outdeg", np.int32, shape="n"),
        lp.GlobalArg("rank,new_rank", np.float64, shape="n"),
        lp.ValueArg("damping", np.float64),
        lp.ValueArg("n,nlinks", np.int32),
    ],
    assumptions="n>=1",
)
knl = lp.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")
links_dev = {
    "starts": cl.array.to_device(queue, starts),
    "sources": cl.array.to_device(queue, sources),
    "outdeg": cl.array.to_device(queue, outdeg),
}
rank = cl.array.to_device(queue, np.full(n, 1 / n))
expected = np.full(n, 1 / n)
for _step in range(5):
    evt, (rank,) = knl(queue, rank=rank, damping=0.85, **links_dev)
    expected = 0.15 / n + 0.85 * (links.T @ (expected / outdeg))

RESULTS = {"rank": rank.get(), "sum": float(rank.get().sum())}
EXPECTED = {"rank": expected, "sum": 1.0}
