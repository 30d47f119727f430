"""Burgers' equation with Godunov's flux: fluxes at faces in a temporary, min and max, two loops."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    ["{ [f]: 0<=f<n-1 }", "{ [i]: 1<=i<n-1 }"],
    """
    <> left = fmax(u[f], 0) {id=left}
    <> right = fmin(u[f+1], 0) {id=right}
    flux[f] = fmax(0.5*left*left, 0.5*right*right) {id=flux, dep=left:right}
    u_new[i] = u[i] - nu*(flux[i] - flux[i-1]) {id=update, dep=flux}
    """,
    [
        lp.GlobalArg("u,u_new", np.float64, shape="n"),
        lp.GlobalArg("flux", np.float64, shape="n-1", is_input=False),
        lp.ValueArg("nu", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="burgers",
    assumptions="n>=3",
    options=lp.Options(return_dict=True),
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
u = np.random.default_rng(53).normal(size=40)
u_new = u.copy()
evt, found = knl(u=u.copy(), u_new=u_new, nu=0.3)

flux = np.maximum(0.5 * np.maximum(u[:-1], 0) ** 2, 0.5 * np.minimum(u[1:], 0) ** 2)
expected = u.copy()
expected[1:-1] -= 0.3 * np.diff(flux)
RESULTS = {"flux": found["flux"], "u": u_new}
EXPECTED = {"flux": flux, "u": expected}
