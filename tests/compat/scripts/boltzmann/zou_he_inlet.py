"""A velocity inlet after Zou and He along one column: three instructions in order."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [y]: 0<=y<ny }",
    """
    for y
        <> rho = (f[0,y] + f[2,y] + f[4,y] + 2*(f[3,y] + f[6,y] + f[7,y]))/(1 - uin)
        <> d = 0.5*(f[2,y] - f[4,y])
        f[1,y] = f[3,y] + 2*rho*uin/3 {id=east, dep=*}
        f[5,y] = f[7,y] - d + rho*uin/6 {id=north_east, dep=*east}
        f[8,y] = f[6,y] + d + rho*uin/6 {id=south_east, dep=*north_east}
        density[y] = rho
    end
    """,
    [
        lp.GlobalArg("f", np.float64, shape=(9, "ny")),
        lp.GlobalArg("density", np.float64, shape="ny", is_input=False),
        lp.ValueArg("uin", np.float64),
        lp.ValueArg("ny", np.int32),
    ],
    seq_dependencies=True,
    name="inlet",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
f = np.random.default_rng(97).random((9, 17))
ours = f.copy()
evt, found = lp.set_options(knl, return_dict=True)(f=ours, uin=0.1)

rho = (f[0] + f[2] + f[4] + 2 * (f[3] + f[6] + f[7])) / 0.9
d = 0.5 * (f[2] - f[4])
expected = f.copy()
expected[1] = f[3] + 2 * rho * 0.1 / 3
expected[5] = f[7] - d + rho * 0.1 / 6
expected[8] = f[6] + d + rho * 0.1 / 6
RESULTS = {
    "f": ours,
    "density": found["density"],
    "momentum": (ours[[1, 5, 8]]).sum(axis=0) - ours[[3, 6, 7]].sum(axis=0),
}
EXPECTED = {"f": expected, "density": rho, "momentum": 0.1 * rho}
