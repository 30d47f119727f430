"""Forward substitution with a sparse lower triangle, row after row, in C."""

import loopy as lp
import numpy as np

rng = np.random.default_rng(51)
n = 19
lower = np.tril(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.3), -1)
diag = rng.uniform(1, 2, size=n)
indptr = np.concatenate([[0], np.cumsum((lower != 0).sum(axis=1))]).astype(np.int32)
indices = np.nonzero(lower)[1].astype(np.int32)
data = lower[lower != 0]
b = rng.normal(size=n)

knl = lp.make_kernel(
    ["{ [i]: 0<=i<n }", "[beg,fin] -> { [k]: beg<=k<fin }"],
    """
    for i
        <> beg = indptr[i]      {id=beg}
        <> fin = indptr[i+1]    {id=fin}
        <> rest = b[i]          {id=rest}
        for k
            rest = rest - data[k]*x[indices[k]]  {id=elim, dep=*rest:beg:fin}
        end
        x[i] = rest / diag[i]   {id=solve, dep=elim}
    end
    """,
    [
        lp.GlobalArg("indptr", np.int32, shape="n+1"),
        lp.GlobalArg("indices", np.int32, shape="nnz"),
        lp.GlobalArg("data", np.float64, shape="nnz"),
        lp.GlobalArg("b,diag,x", np.float64, shape="n"),
        lp.ValueArg("n,nnz", np.int32),
    ],
    assumptions="n>=1",
    name="forward",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
evt, (x,) = knl(indptr=indptr, indices=indices, data=data, b=b, diag=diag, x=np.zeros(n))

RESULTS = {"x": x}
EXPECTED = {"x": np.linalg.solve(lower + np.diag(diag), b)}
