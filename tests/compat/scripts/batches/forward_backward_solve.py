"""Two triangular solves with given factors, forward and backward, in one C function."""

import loopy as lp
import numpy as np

rng = np.random.default_rng(107)
n = 8
lower = np.tril(rng.normal(size=(n, n)), -1) + 3 * np.eye(n)
b = rng.normal(size=n)

knl = lp.make_kernel(
    [
        "{ [i]: 0<=i<n }",
        "[i] -> { [j]: 0<=j<i }",
        "{ [p]: 0<=p<n }",
        "[n,p] -> { [q]: n-p<=q<n }",
    ],
    """
    <> start = 0 {id=start}
    for i
        <> s = sum(j, lower[i,j]*y[j])  {id=s, dep=*start}
        y[i] = (b[i] - s) / lower[i,i]  {id=y, dep=s}
    end
    for p
        <> t = sum(q, lower[q,n-1-p]*x[q])          {id=t, dep=*y}
        x[n-1-p] = (y[n-1-p] - t) / lower[n-1-p,n-1-p]  {id=x, dep=t:y}
    end
    """,
    [
        lp.GlobalArg("lower", np.float64, shape="n,n"),
        lp.GlobalArg("b,y,x", np.float64, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n>=1",
    name="solve",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(lower=lower, b=b, y=np.zeros(n), x=np.zeros(n))

RESULTS = {"y": out["y"], "x": out["x"]}
EXPECTED = {
    "y": np.linalg.solve(lower, b),
    "x": np.linalg.solve(lower @ lower.T, b),
}
