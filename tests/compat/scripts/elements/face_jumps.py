"""Jumps and averages across faces of a mesh: two neighbours of each face."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array
from loopy.version import LOOPY_USE_LANGUAGE_VERSION_2018_2  # noqa: F401

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [f,n]: 0<=f<nf and 0<=n<np_ }",
    """
    for f
        <> inside = face[f,0]
        <> outside = face[f,1]
        <> interior = outside >= 0
        for n
            <> um = u[inside,n] {id=um}
            <> up = um {id=up0, dep=um}
            up = u[outside,n] {id=up, dep=up0, if=interior}
            jump[f,n] = um - up {dep=um:up}
            avg[f,n] = 0.5*(um + up) {dep=um:up}
        end
    end
    """,
    [
        lp.GlobalArg("u", np.float64, shape="ne,np_"),
        lp.GlobalArg("face", np.int32, shape="nf,2"),
        lp.GlobalArg("jump,avg", np.float64, shape="nf,np_"),
        lp.ValueArg("ne,nf,np_", np.int32),
    ],
    name="jumps",
    options=lp.Options(return_dict=True),
    assumptions="nf>=1 and np_>=1",
)
knl = lp.tag_inames(knl, {"f": "g.0"})
rng = np.random.default_rng(66)
u = rng.random((10, 3))
face = np.stack([rng.integers(0, 10, 17), rng.integers(-1, 10, 17)], axis=1).astype(np.int32)
evt, found = knl(queue, u=u, face=face)

um = u[face[:, 0]]
up = np.where(face[:, 1:] >= 0, u[face[:, 1]], um)
RESULTS = {"jump": found["jump"], "average": found["avg"]}
EXPECTED = {"jump": um - up, "average": (um + up) / 2}
