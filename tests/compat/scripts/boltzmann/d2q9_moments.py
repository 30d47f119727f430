"""Density and momentum of a D2Q9 lattice by sums over directions, velocities as constant tables."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [x,y,q,p,r]: 0<=x<nx and 0<=y<ny and 0<=q,p,r<9 }",
    """
    for x, y
        <> density = sum(q, f[q,x,y]) {id=rho}
        rho[x,y] = density {dep=rho}
        ux[x,y] = sum(p, cx[p]*f[p,x,y])/density {dep=rho}
        uy[x,y] = sum(r, cy[r]*f[r,x,y])/density {dep=rho}
    end
    """,
    [
        lp.GlobalArg("f", np.float32, shape="9,nx,ny"),
        lp.ConstantArg("cx,cy", np.int32, shape=(9,)),
        lp.GlobalArg("rho,ux,uy", np.float32, shape="nx,ny"),
        lp.ValueArg("nx,ny", np.int32),
    ],
    name="moments",
    assumptions="nx>=1 and ny>=1",
    options=lp.Options(return_dict=True),
)
knl = lp.tag_inames(knl, {"q": "unr", "p": "unr", "r": "unr", "x": "g.1"})
knl = lp.split_iname(knl, "y", 32, outer_tag="g.0", inner_tag="l.0")
cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1], dtype=np.int32)
cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1], dtype=np.int32)
f = 0.1 + np.random.default_rng(91).random((9, 7, 41)).astype(np.float32)
evt, found = knl(queue, f=f, cx=cx, cy=cy)

rho = f.sum(axis=0)
RESULTS = {name: found[name] for name in ("rho", "ux", "uy")}
EXPECTED = {
    "rho": rho,
    "ux": np.einsum("q,qxy->xy", cx, f) / rho,
    "uy": np.einsum("q,qxy->xy", cy, f) / rho,
}
