"""Points of a generator of one's own (a linear congruence), counted inside a circle."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

walkers, draws = 24, 40

knl = lp.make_kernel(
    "{ [w,d]: 0<=w<walkers and 0<=d<draws }",
    """
    for w
        <uint32> state = seeds[w]   {id=seed}
        <int32> inside = 0          {id=zero}
        for d
            state = state*1664525 + 1013904223      {id=s1, dep=seed}
            <> px = (state // 65536) / 65536.0      {id=px, dep=s1}
            state = state*1664525 + 1013904223      {id=s2, dep=px:s1}
            <> py = (state // 65536) / 65536.0      {id=py, dep=s2}
            inside = inside + (1 if px*px + py*py < 1 else 0)  {id=count, dep=px:py:zero}
        end
        hits[w] = inside {dep=count}
    end
    """,
    [
        lp.GlobalArg("seeds", np.uint32, shape="walkers"),
        lp.GlobalArg("hits", np.int32, shape="walkers"),
        ...,
    ],
    assumptions="walkers>=1 and draws>=1",
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, draws=draws)
knl = lp.split_iname(knl, "w", 8, outer_tag="g.0", inner_tag="l.0")
seeds = (np.arange(walkers) * 7919 + 17).astype(np.uint32)
evt, (hits,) = knl(queue, seeds=cl.array.to_device(queue, seeds))

expected = []
for seed in seeds.tolist():
    state, inside = seed, 0
    for _ in range(draws):
        state = (state * 1664525 + 1013904223) % 2**32
        px = (state // 65536) / 65536
        state = (state * 1664525 + 1013904223) % 2**32
        py = (state // 65536) / 65536
        inside += px * px + py * py < 1
    expected.append(inside)
RESULTS = {"hits": hits.get()}
EXPECTED = {"hits": np.array(expected)}
