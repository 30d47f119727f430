"""The largest eigenvalue by power iteration: a product and a norm, two kernels called in turn."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(109)
n = 24
basis = np.linalg.qr(rng.normal(size=(n, n))).Q
spectrum = np.concatenate([[10.0], rng.uniform(0, 2, size=n - 1)])
a = cl.array.to_device(queue, basis * spectrum @ basis.T)

matvec = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    "y[i] = sum(j, a[i,j]*x[j])",
    name="matvec",
    lang_version=(2018, 2),
)
matvec = lp.add_dtypes(matvec, {"a": np.float64, "x": np.float64})
matvec = lp.split_iname(lp.assume(matvec, "n>=1"), "i", 8, outer_tag="g.0", inner_tag="l.0")
scale = lp.make_kernel(
    "{ [i,j]: 0<=i,j<n }",
    """
    <> norm = sqrt(sum(i, y[i]*y[i]))
    x[j] = y[j] / norm
    lam = norm
    """,
    [lp.GlobalArg("lam", np.float64, shape=()), lp.GlobalArg("x,y", np.float64, shape="n"), ...],
    name="scale",
    lang_version=(2018, 2),
)
scale = lp.set_options(scale, return_dict=True)
x = cl.array.to_device(queue, np.ones(n))
for _ in range(18):
    _, (y,) = matvec(queue, a=a, x=x)
    _, out = scale(queue, y=y)
    x = out["x"]

RESULTS = {"lam": float(out["lam"].get()), "x": abs(x.get())}
EXPECTED = {"lam": 10.0, "x": abs(basis[:, 0])}
