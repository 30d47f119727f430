"""Fields moved to points of another mesh: barycentric weights, a private row."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [p,c,k]: 0<=p<npts and 0<=c<2 and 0<=k<3 }",
    """
    for p
        <> el = where[p]
        lam[0] = 1 - xi[p,0] - xi[p,1] {id=l0, nosync=l1:l2}
        lam[1] = xi[p,0] {id=l1, nosync=l0:l2}
        lam[2] = xi[p,1] {id=l2, nosync=l0:l1}
        out[p,c] = sum(k, lam[k]*field[tri[el,k],c]) {dep=l0:l1:l2}
    end
    """,
    [
        lp.GlobalArg("where", np.int32, shape=("npts",)),
        lp.GlobalArg("xi,out", np.float64, shape=("npts", 2)),
        lp.GlobalArg("field", np.float64, shape=("nn", 2)),
        lp.GlobalArg("tri", np.int32, shape=("ne", 3)),
        lp.TemporaryVariable("lam", np.float64, shape=(3,), address_space=lp.AddressSpace.PRIVATE),
        lp.ValueArg("ne,nn", np.int32),
        "...",
    ],
    name="locate_and_interpolate",
    assumptions="npts>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "p", 8, outer_tag="g.0", inner_tag="l.0")
knl = lp.tag_inames(knl, {"c": "unr", "k": "unr"})
rng = np.random.default_rng(77)
field, xi = rng.random((15, 2)), rng.random((27, 2)) / 2
tri = rng.integers(0, 15, (9, 3)).astype(np.int32)
where = rng.integers(0, 9, 27).astype(np.int32)
evt, (out,) = knl(queue, where=where, xi=xi, field=field, tri=tri)

lam = np.stack([1 - xi.sum(axis=1), xi[:, 0], xi[:, 1]], axis=1)
RESULTS = {"values": out}
EXPECTED = {"values": np.einsum("pk,pkc->pc", lam, field[tri[where]])}
