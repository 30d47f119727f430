"""Where values belong in a sorted array: bisection with a fixed number of steps."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(21)
grid = np.sort(rng.normal(size=100))
queries = rng.normal(size=71)

knl = lp.make_kernel(
    "{ [q,step]: 0<=q<nq and 0<=step<nsteps }",
    """
    for q
        <int32> lo = 0           {id=lo0}
        <int32> hi = n           {id=hi0}
        for step
            <int32> mid = (lo + hi) // 2                      {id=mid, dep=lo0:hi0}
            <int32> more = lo < hi and grid[mid] < queries[q]  {id=more, dep=mid}
            <int32> less = lo < hi and grid[mid] >= queries[q] {id=less, dep=mid}
            lo = mid + 1         {id=lo1, dep=more:less:mid, if=more}
            hi = mid             {id=hi1, dep=more:less:mid, if=less}
        end
        where[q] = lo            {dep=lo1:hi1}
    end
    """,
    [
        lp.GlobalArg("grid", np.float64, shape="n"),
        lp.GlobalArg("where", np.int32, shape="nq"),
        lp.ValueArg("n", np.int32),
        ...,
    ],
    assumptions="nq>=1",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, nsteps=7)
knl = lp.split_iname(knl, "q", 16, outer_tag="g.0", inner_tag="l.0")
evt, (where,) = knl(
    queue, grid=cl.array.to_device(queue, grid), queries=cl.array.to_device(queue, queries)
)

RESULTS = {"where": where.get()}
EXPECTED = {"where": np.searchsorted(grid, queries)}
