"""One operator on three layouts of its data: tag_array_axes, split_array_dim."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [e,i,j]: 0<=e<32 and 0<=i,j<4 }",
    "v[e,i] = sum(j, D[i,j]*u[e,j])",
    [
        lp.GlobalArg("u,v", np.float64, shape=(32, 4)),
        lp.GlobalArg("D", np.float64, shape=(4, 4)),
    ],
    name="derive",
    target=lp.ExecutableCTarget(),
)
last = lp.tag_array_axes(knl, "u,v", "N0,N1")
blocked = lp.split_array_dim(knl, ("u", 0), 8, auto_split_inames=False)
blocked = lp.split_iname(blocked, "e", 8)
shape = list(blocked.default_entrypoint.arg_dict["u"].shape)
rng = np.random.default_rng(78)
u, D = rng.random((32, 4)), rng.random((4, 4))
evt, (v,) = knl(u=u, D=D)
evt, (v_last,) = last(u=np.asfortranarray(u), D=D)
evt, (v_blocked,) = blocked(u=u.reshape(4, 8, 4), D=D)

RESULTS = {"first": v, "last": v_last, "blocks": v_blocked, "shape": shape}
EXPECTED = {"first": u @ D.T, "last": u @ D.T, "blocks": u @ D.T, "shape": [4, 8, 4]}
