"""A while-loop in C inside a kernel: the lengths of Collatz sequences, by CInstruction."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    [
        lp.Assignment("start", "seeds[i]", id="start", temp_var_type=lp.Optional(np.int64)),
        lp.CInstruction(
            "i",
            """
            long value = start;
            int steps = 0;
            while (value != 1)
            {
                value = (value % 2 == 0) ? value / 2 : 3*value + 1;
                ++steps;
            }
            length = steps;
            """,
            read_variables=frozenset(["start"]),
            assignees="length",
            id="loop",
            depends_on=frozenset(["start"]),
        ),
        lp.Assignment("lengths[i]", "length", id="store", depends_on=frozenset(["loop"])),
    ],
    [
        lp.GlobalArg("seeds", np.int64, shape="n"),
        lp.GlobalArg("lengths", np.int32, shape="n"),
        lp.TemporaryVariable("length", np.int32, shape=()),
        lp.ValueArg("n", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")

seeds = np.arange(1, 40, dtype=np.int64)
evt, (lengths,) = knl(queue, seeds=cl.array.to_device(queue, seeds))

expected = []
for seed in range(1, 40):
    value, count = seed, 0
    while value != 1:
        value = value // 2 if value % 2 == 0 else 3 * value + 1
        count += 1
    expected.append(count)
RESULTS = {"lengths": lengths.get()}
EXPECTED = {"lengths": np.array(expected)}
