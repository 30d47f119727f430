"""Plane stresses from nodal displacements: B matrices by rules, constants fixed."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e,a]: 0<=e<ne and 0<=a<3 }",
    """
    ux(e, a) := disp[conn[e,a],0]
    uy(e, a) := disp[conn[e,a],1]
    <> exx = sum(a, bx[e,a]*ux(e,a)) {id=xx}
    <> eyy = sum(a, by[e,a]*uy(e,a)) {id=yy}
    <> gxy = sum(a, by[e,a]*ux(e,a) + bx[e,a]*uy(e,a)) {id=xy}
    sig[e,0] = young/(1 - nu*nu)*(exx + nu*eyy) {dep=xx:yy, id=s0, nosync=s1:s2}
    sig[e,1] = young/(1 - nu*nu)*(nu*exx + eyy) {dep=xx:yy, id=s1, nosync=s0:s2}
    sig[e,2] = 0.5*young/(1 + nu)*gxy {dep=xy, id=s2, nosync=s0:s1}
    """,
    [
        lp.GlobalArg("disp", np.float64, shape="nn,2"),
        lp.GlobalArg("conn", np.int32, shape="ne,3"),
        lp.GlobalArg("bx,by", np.float64, shape="ne,3"),
        lp.GlobalArg("sig", np.float64, shape="ne,3"),
        lp.ValueArg("young,nu", np.float64),
        lp.ValueArg("nn,ne", np.int32),
    ],
    name="stresses",
    assumptions="ne>=1",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, nu=0.25)
knl = lp.make_reduction_inames_unique(knl)
knl = lp.split_iname(knl, "e", 8, outer_tag="g.0", inner_tag="l.0")
rng = np.random.default_rng(71)
disp, (bx, by) = rng.random((14, 2)), rng.normal(size=(2, 11, 3))
conn = rng.integers(0, 14, (11, 3)).astype(np.int32)
evt, (sig,) = knl(queue, disp=disp, conn=conn, bx=bx, by=by, young=2.5)

ux, uy = disp[conn, 0], disp[conn, 1]
exx, eyy = (bx * ux).sum(axis=1), (by * uy).sum(axis=1)
gxy = (by * ux + bx * uy).sum(axis=1)
C = 2.5 / (1 - 0.25**2) * np.array([[1, 0.25, 0], [0.25, 1, 0], [0, 0, 0.375]])
RESULTS = {"stresses": sig}
EXPECTED = {"stresses": np.stack([exx, eyy, gxy], axis=1) @ C}
