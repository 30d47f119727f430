"""Local stiffness matrices from gradients of barycentric coordinates: private arrays."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [e,i,j,d,k]: 0<=e<ne and 0<=i,j,k<3 and 0<=d<2 }",
    """
    for e
        <> area2 = (x[e,1,0] - x[e,0,0])*(x[e,2,1] - x[e,0,1]) \
            - (x[e,2,0] - x[e,0,0])*(x[e,1,1] - x[e,0,1]) {id=area}
        for k
            grad[k,0] = (x[e,(k+1)%3,1] - x[e,(k+2)%3,1])/area2 {id=gx, dep=area, nosync=gy}
            grad[k,1] = (x[e,(k+2)%3,0] - x[e,(k+1)%3,0])/area2 {id=gy, dep=area, nosync=gx}
        end
        K[e,i,j] = 0.5*area2*sum(d, grad[i,d]*grad[j,d]) {id=stiff, dep=gx:gy}
    end
    """,
    [
        lp.GlobalArg("x", np.float64, shape=("ne", 3, 2)),
        lp.GlobalArg("K", np.float64, shape=("ne", 3, 3)),
        lp.TemporaryVariable("grad", np.float64, shape=(3, 2)),
        lp.ValueArg("ne", np.int32),
    ],
    name="stiffness",
    assumptions="ne>=1",
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"e": "g.0"})
x = np.random.default_rng(61).random((7, 3, 2)) + np.array([[0, 0], [2, 0], [0, 2]])
evt, (K,) = knl(queue, x=cl.array.to_device(queue, x))

expected = np.empty((7, 3, 3))
for e, corners in enumerate(x):
    coefficients = np.linalg.inv(np.column_stack([np.ones(3), corners]))
    area = np.linalg.det(np.column_stack([np.ones(3), corners])) / 2
    expected[e] = area * coefficients[1:].T @ coefficients[1:]
RESULTS = {"K": K.get()}
EXPECTED = {"K": expected}
