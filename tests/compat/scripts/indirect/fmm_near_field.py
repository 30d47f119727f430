"""Near field of an FMM: for each box, its targets, the boxes of its list, and their sources."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(40)
nboxes = 7
per_box = rng.integers(1, 6, size=nboxes)
box_starts = np.concatenate([[0], np.cumsum(per_box)]).astype(np.int32)
npart = int(box_starts[-1])
neighbours = [[b for b in (k - 1, k, k + 1) if 0 <= b < nboxes] for k in range(nboxes)]
list_starts = np.concatenate([[0], np.cumsum([len(row) for row in neighbours])]).astype(np.int32)
lists = np.concatenate(neighbours).astype(np.int32)
pos = np.repeat(np.arange(nboxes), per_box) + rng.random(npart)
charge = rng.normal(size=npart)

knl = lp.make_kernel(
    [
        "{ [tbox]: 0<=tbox<nboxes }",
        "[t_start,t_end] -> { [t]: t_start<=t<t_end }",
        "[l_start,l_end] -> { [il]: l_start<=il<l_end }",
        "[s_start,s_end] -> { [s]: s_start<=s<s_end }",
    ],
    """
    for tbox
        <> t_start = box_starts[tbox]
        <> t_end = box_starts[tbox+1]
        for t
            <> l_start = list_starts[tbox]
            <> l_end = list_starts[tbox+1]
            <> acc = 0.0 {id=init}
            for il
                <> sbox = lists[il]
                <> s_start = box_starts[sbox]
                <> s_end = box_starts[sbox+1]
                for s
                    <> dist = fabs(pos[t] - pos[s]) {id=dist}
                    acc = acc + (charge[s]/dist if s != t else 0.0) {id=add, dep=init:dist}
                end
            end
            pot[t] = acc {dep=add}
        end
    end
    """,
    [
        lp.GlobalArg("box_starts", np.int32, shape="nboxes+1"),
        lp.GlobalArg("list_starts", np.int32, shape="nboxes+1"),
        lp.GlobalArg("lists", np.int32, shape=None),
        lp.GlobalArg("pos, charge, pot", np.float64, shape="npart"),
        lp.ValueArg("nboxes, npart", np.int32),
    ],
    assumptions="nboxes>=1",
    name="near_field",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"tbox": "g.0"})
evt, (pot,) = knl(
    queue, box_starts=box_starts, list_starts=list_starts, lists=lists, pos=pos, charge=charge
)

box = np.repeat(np.arange(nboxes), per_box)
near = (abs(box[:, None] - box) <= 1) & ~np.eye(npart, dtype=bool)
distance = abs(pos[:, None] - pos) + np.eye(npart)
RESULTS = {"pot": pot}
EXPECTED = {"pot": (near * charge / distance).sum(axis=1)}
