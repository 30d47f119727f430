"""Linked lists walked to their ends, by pointer jumping with predicates."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

nxt = np.array([3, 3, 5, 7, -1, 4, 2, 10, -1, 8, -1, 9], dtype=np.int32)
n = nxt.size

knl = lp.make_kernel(
    "{ [head,hop]: 0<=head<n and 0<=hop<n }",
    """
    for head
        <> at = head            {id=at0}
        <int32> length = 1      {id=len0}
        for hop
            <> ahead = nxt[at]  {id=ahead, dep=at0}
            if ahead >= 0
                at = ahead               {id=at1, dep=ahead}
                length = length + 1      {id=len1, dep=ahead:len0}
            end
        end
        tail[head] = at         {dep=at1, nosync=at1}
        steps[head] = length    {dep=len1}
    end
    """,
    [
        lp.GlobalArg("nxt", np.int32, shape="n"),
        lp.GlobalArg("tail", np.int32, shape="n"),
        lp.GlobalArg("steps", np.int32, shape="n"),
        "...",
    ],
    lang_version=(2018, 2),
)
knl = lp.assume(knl, "n>=1")
knl = lp.tag_inames(knl, "head:g.0")
evt, (tail, steps) = knl(queue, nxt=cl.array.to_device(queue, nxt))

tails, lengths = [], []
for head in range(n):
    at, length = head, 1
    while nxt[at] >= 0:
        at, length = nxt[at], length + 1
    tails.append(at)
    lengths.append(length)
RESULTS = {"tail": tail.get(), "steps": steps.get()}
EXPECTED = {"tail": np.array(tails), "steps": np.array(lengths)}
