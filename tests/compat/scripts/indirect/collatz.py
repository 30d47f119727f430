"""Steps of the Collatz sequence from each start: a bounded loop whose body a flag turns off."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

limit = 60
starts = np.arange(1, 28, dtype=np.int64)

knl = lp.make_kernel(
    "{ [i,it]: 0<=i<n and 0<=it<limit }",
    """
    for i
        <> cur = starts[i]    {id=cur0}
        <int32> taken = 0     {id=taken0}
        for it
            <> odd = cur % 2              {id=odd, dep=cur0:taken0}
            <> go = cur > 1               {id=go, dep=cur0}
            if go
                cur = 3*cur+1 if odd == 1 else cur // 2  {id=cur1, dep=odd:go}
                taken = taken + 1                        {id=taken1, dep=odd:go}
            end
        end
        steps[i] = taken if cur == 1 else -1  {dep=taken1:cur1}
    end
    """,
    [
        lp.GlobalArg("starts", np.int64, shape="n"),
        lp.GlobalArg("steps", np.int32, shape="n"),
        "...",
    ],
    assumptions="n>=1 and limit>=1",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, limit=limit)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
evt, (steps,) = knl(queue, starts=starts)

expected = []
for start in starts.tolist():
    cur, taken = start, 0
    while cur > 1 and taken < limit:
        cur, taken = (3 * cur + 1 if cur % 2 else cur // 2), taken + 1
    expected.append(taken if cur == 1 else -1)
RESULTS = {"steps": steps}
EXPECTED = {"steps": np.array(expected)}
