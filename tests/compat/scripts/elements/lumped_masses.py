"""Row sums of local matrices as lumped masses, gathered node by node from a list of corners."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    ["{ [v]: 0<=v<nv }", "{ [c]: 0<=c<count }"],
    """
    for v
        <> start = first[v] {id=start}
        <> count = first[v+1] - start {id=count, dep=start}
        lumped[v] = sum(c, area[elem[start + c]])/3 {dep=count}
    end
    """,
    [
        lp.GlobalArg("first", np.int32, shape="nv+1"),
        lp.GlobalArg("elem", np.int32, shape="nc"),
        lp.GlobalArg("area", np.float64, shape="ne"),
        lp.GlobalArg("lumped", np.float64, shape="nv"),
        lp.ValueArg("nv,nc,ne", np.int32),
    ],
    name="lump",
    assumptions="nv>=1",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
rng = np.random.default_rng(70)
tri = np.array([rng.permutation(12)[:3] for _ in range(21)])
area = rng.random(21)
elem = np.concatenate([np.nonzero((tri == v).any(axis=1))[0] for v in range(12)])
counts = [(tri == v).any(axis=1).sum() for v in range(12)]
first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
evt, (lumped,) = knl(first=first, elem=elem.astype(np.int32), area=area)

expected = np.zeros(12)
np.add.at(expected, tri, area[:, None] / 3)
RESULTS = {"lumped": lumped}
EXPECTED = {"lumped": expected}
