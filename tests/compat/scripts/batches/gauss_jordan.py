"""Inverses by Gauss-Jordan elimination of an augmented matrix in local arrays of a work item."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(121)
nb, n = 12, 4
a = rng.normal(size=(nb, n, n)) + 2 * n * np.eye(n)

knl = lp.make_kernel(
    [
        "{ [b]: 0<=b<nb }",
        "{ [i,j,i2,j2,i3,j3]: 0<=i,j,i2,j2,i3,j3<4 }",
        "{ [p,c,c2,c3,r]: 0<=p,r<4 and 0<=c,c2,c3<8 }",
    ],
    """
    for b
        w[i,j] = a[b,i,j]                        {id=left}
        w[i2,j2+4] = (1 if i2 == j2 else 0)      {id=right, nosync=left}
        for p
            <> pivot = w[p,p]                    {id=pivot, dep=left:right}
            row[c] = w[p,c] / pivot              {id=row, dep=pivot}
            for r
                <> f = w[r,p]                    {id=f, dep=row}
                w[r,c2] = w[r,c2] - f*row[c2]    {id=elim, dep=f:row, if=(r != p)}
            end
            w[p,c3] = row[c3]                    {id=put, dep=elim:row}
        end
        inv[b,i3,j3] = w[i3,j3+4]                {id=out, dep=put}
    end
    """,
    [
        lp.GlobalArg("a,inv", np.float64, shape="nb,4,4"),
        lp.TemporaryVariable("w", np.float64, shape=(4, 8)),
        lp.TemporaryVariable("row", np.float64, shape=(8,)),
        "...",
    ],
    name="gauss_jordan",
    lang_version=(2018, 2),
)
knl = lp.split_iname(lp.assume(knl, "nb>=1"), "b", 4, outer_tag="g.0", inner_tag="l.0")
evt, (inv,) = knl(queue, a=cl.array.to_device(queue, a))

RESULTS = {"inv": inv.get()}
EXPECTED = {"inv": np.linalg.inv(a)}
