"""A Cholesky factorization, column by column, in C."""

import loopy as lp
import numpy as np

rng = np.random.default_rng(104)
n = 11
half = rng.normal(size=(n, n))
spd = half @ half.T + n * np.eye(n)

knl = lp.make_kernel(
    [
        "{ [k]: 0<=k<n }",
        "[n,k] -> { [i]: k<i<n }",
        "[n,k] -> { [r,c]: k<c<=r<n }",
    ],
    """
    for k
        a[k,k] = sqrt(a[k,k])
        for i
            a[i,k] = a[i,k] / a[k,k]
        end
        for r, c
            a[r,c] = a[r,c] - a[r,k]*a[c,k]
        end
    end
    """,
    [lp.GlobalArg("a", np.float64, shape="n,n"), lp.ValueArg("n", np.int32)],
    name="cholesky",
    seq_dependencies=True,
    assumptions="n>=1",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
knl = lp.prioritize_loops(knl, "k,r,c")
evt, (a,) = knl(a=spd.copy())

RESULTS = {"lower": np.tril(a), "product": np.tril(a) @ np.tril(a).T}
EXPECTED = {"lower": np.linalg.cholesky(spd), "product": spd}
