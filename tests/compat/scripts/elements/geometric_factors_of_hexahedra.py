"""Jacobians of trilinear hexahedra at a point: small matrices, determinants and inverses."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [e,r,c,n]: 0<=e<ne and 0<=r,c<3 and 0<=n<8 }",
    """
    for e
        for r, c
            J[r,c] = sum(n, x[e,n,r]*dphi[n,c]) {id=jac}
        end
        <> det = J[0,0]*(J[1,1]*J[2,2] - J[1,2]*J[2,1]) \
            - J[0,1]*(J[1,0]*J[2,2] - J[1,2]*J[2,0]) \
            + J[0,2]*(J[1,0]*J[2,1] - J[1,1]*J[2,0]) {id=det, dep=jac}
        vol[e] = 8*det {id=vol, dep=det}
        ginv[e,0,0] = (J[1,1]*J[2,2] - J[1,2]*J[2,1])/det {id=g00, dep=det, nosync=g*}
        ginv[e,0,1] = (J[0,2]*J[2,1] - J[0,1]*J[2,2])/det {id=g01, dep=det, nosync=g*}
        ginv[e,0,2] = (J[0,1]*J[1,2] - J[0,2]*J[1,1])/det {id=g02, dep=det, nosync=g*}
    end
    """,
    [
        lp.GlobalArg("x", np.float64, shape=("ne", 8, 3)),
        lp.GlobalArg("dphi", np.float64, shape=(8, 3)),
        lp.GlobalArg("vol", np.float64, shape="ne"),
        lp.GlobalArg("ginv", np.float64, shape=("ne", 1, 3)),
        lp.TemporaryVariable("J", np.float64, shape=(3, 3)),
        "...",
    ],
    name="jacobians",
    options=lp.Options(return_dict=True),
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
corners = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], dtype=float)
dphi = corners / 8
x = corners + 0.2 * np.random.default_rng(64).random((6, 8, 3))
evt, found = knl(x=x, dphi=dphi)

jacobians = np.einsum("enr,nc->erc", x, dphi)
RESULTS = {"volumes": found["vol"], "first rows": found["ginv"]}
EXPECTED = {
    "volumes": 8 * np.linalg.det(jacobians),
    "first rows": np.linalg.inv(jacobians)[:, :1],
}
