"""div(c grad u) with harmonic means at faces: rules of two arguments, an argument by columns."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,j]: 1<=i<nx-1 and 1<=j<ny-1 }",
    """
    harm(a, b) := 2*a*b/(a + b)
    east(p, q) := harm(c[p,q], c[p+1,q])*(u[p+1,q] - u[p,q])
    north(p, q) := harm(c[p,q], c[p,q+1])*(u[p,q+1] - u[p,q])
    r[i-1,j-1] = east(i,j) - east(i-1,j) + north(i,j) - north(i,j-1)
    """,
    [
        lp.GlobalArg("u", np.float64, shape="nx,ny"),
        lp.GlobalArg("c", np.float64, shape="nx,ny", order="F"),
        lp.GlobalArg("r", np.float64, shape="nx-2,ny-2"),
        lp.ValueArg("nx,ny", np.int32),
    ],
    name="divergence",
    assumptions="nx>=3 and ny>=3",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.expand_subst(knl, "id:insn")
rng = np.random.default_rng(52)
u, c = rng.random((2, 13, 10))
evt, (r,) = knl(u=u, c=np.asfortranarray(c))

cx = 2 * c[1:] * c[:-1] / (c[1:] + c[:-1])
cy = 2 * c[:, 1:] * c[:, :-1] / (c[:, 1:] + c[:, :-1])
RESULTS = {"r": r}
EXPECTED = {
    "r": np.diff(cx * np.diff(u, axis=0), axis=0)[:, 1:-1]
    + np.diff(cy * np.diff(u, axis=1), axis=1)[1:-1]
}
