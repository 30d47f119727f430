"""Averages of nodal values over the triangles of a mesh, by the connectivity."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(45)
nodes, ntri = 31, 47
tri = np.stack([rng.choice(nodes, 3, replace=False) for _ in range(ntri)]).astype(np.int32)
u = rng.normal(size=nodes).astype(np.float32)

knl = lp.make_kernel(
    "{ [el,v]: 0<=el<ntri and 0<=v<3 }",
    "avg[el] = sum(v, u[tri[el, v]]) / 3",
    [lp.GlobalArg("u", np.float32, shape=("nodes",)), lp.ValueArg("nodes", np.int32), "..."],
    name="average",
)
knl = lp.add_and_infer_dtypes(knl, {"tri": np.int32})
knl = lp.tag_inames(knl, [("v", "unr")])
knl = lp.split_iname(knl, "el", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.assume(knl, "ntri mod 1 = 0 and ntri >= 2")
evt, (avg,) = knl(queue, tri=cl.array.to_device(queue, tri), u=cl.array.to_device(queue, u))

RESULTS = {"avg": avg.get(), "type": str(knl["average"].arg_dict["avg"].dtype.numpy_dtype)}
EXPECTED = {"avg": u[tri].mean(axis=1), "type": "float32"}
