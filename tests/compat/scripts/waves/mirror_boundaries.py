"""Ghost cells filled by mirror images before a step: four loops in sequence."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [a,b,c,d,i,j]: 0<=a,b<ny+2 and 0<=c,d<nx+2 and 1<=i<=nx and 1<=j<=ny }",
    """
    u[0, a] = u[1, a] {id=north}
    u[nx+1, b] = u[nx, b] {id=south, dep=north}
    u[c, 0] = u[c, 1] {id=west, dep=south}
    u[d, ny+1] = u[d, ny] {id=east, dep=west}
    v[i, j] = u[i,j] + k*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1] - 4*u[i,j]) {id=in, dep=east}
    """,
    [
        lp.GlobalArg("u,v", np.float64, shape=("nx+2", "ny+2")),
        lp.ValueArg("k", np.float64),
        lp.ValueArg("nx,ny", np.int32),
    ],
    seq_dependencies=True,
    name="mirror",
    assumptions="nx>=1 and ny>=1",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
u = np.random.default_rng(45).random((11, 8))
u_dev, v_dev = u.copy(), np.zeros((11, 8), np.float64)
knl(u=u_dev, v=v_dev, k=0.1)

inner = u[1:-1, 1:-1]
padded = np.pad(inner, 1, mode="edge")
lap = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * inner
RESULTS = {"step": v_dev[1:-1, 1:-1], "ghosts": u_dev[0, 1:-1]}
EXPECTED = {"step": inner + 0.1 * lap, "ghosts": inner[0]}
