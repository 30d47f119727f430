"""Constrained nodes as weighted sums of their masters: conditionals, plain C."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [v,k]: 0<=v<n and 0<=k<2 }",
    """
    for v
        if kind[v] > 0
            u[v] = sum(k, w[v,k]*free[master[v,k]]) {id=constrained, nosync=plain}
        else
            u[v] = free[v] {id=plain, nosync=constrained}
        end
    end
    """,
    [
        lp.GlobalArg("u,free", np.float64, shape="n"),
        lp.GlobalArg("w", np.float64, shape="n,2"),
        lp.GlobalArg("master", np.int32, shape="n,2"),
        lp.GlobalArg("kind", np.int32, shape="n"),
        ...,
    ],
    name="constrain",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
rng = np.random.default_rng(75)
free, w = rng.random(20), rng.random((20, 2))
master = rng.integers(0, 20, (20, 2)).astype(np.int32)
kind = (np.arange(20) % 3).astype(np.int32)
evt, (u,) = knl(free=free, w=w, master=master, kind=kind)

RESULTS = {"u": u}
EXPECTED = {"u": np.where(kind > 0, (w * free[master]).sum(axis=1), free)}
