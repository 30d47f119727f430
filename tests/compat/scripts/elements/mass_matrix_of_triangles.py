"""Local mass matrices of linear triangles: a reference matrix by a determinant, a few per group."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e,i,j]: 0<=e<ne and 0<=i,j<3 }",
    """
    for e
        <> x10 = xy[tri[e,1],0] - xy[tri[e,0],0]
        <> y10 = xy[tri[e,1],1] - xy[tri[e,0],1]
        <> x20 = xy[tri[e,2],0] - xy[tri[e,0],0]
        <> y20 = xy[tri[e,2],1] - xy[tri[e,0],1]
        <> detj = fabs(x10*y20 - x20*y10)
        mass[e,i,j] = detj*ref[i,j]
    end
    """,
    [
        lp.GlobalArg("xy", np.float64, shape="nv,2"),
        lp.GlobalArg("tri", np.int32, shape="ne,3"),
        lp.GlobalArg("mass", np.float64, shape="ne,3,3"),
        lp.ConstantArg("ref", np.float64, shape="3,3"),
        lp.ValueArg("ne,nv", np.int32),
    ],
    name="local_mass",
    assumptions="ne>=1",
)
knl = lp.split_iname(knl, "e", 8, outer_tag="g.0", inner_tag="l.0")
knl = lp.tag_inames(knl, "i:unr, j:unr")
rng = np.random.default_rng(60)
xy = rng.random((20, 2))
tri = np.array([rng.permutation(20)[:3] for _ in range(13)], dtype=np.int32)
ref = (np.ones((3, 3)) + np.eye(3)) / 24
evt, (mass,) = knl(queue, xy=xy, tri=tri, ref=ref)

edges = xy[tri[:, 1:]] - xy[tri[:, :1]]
det = np.abs(np.linalg.det(edges))
RESULTS = {"mass": mass, "areas": mass.sum(axis=(1, 2)) * 2}
EXPECTED = {"mass": det[:, None, None] * ref, "areas": det}
