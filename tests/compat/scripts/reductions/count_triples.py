"""Pythagorean triples below a limit, counted over a domain of three dimensions with a condition."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [a,b,c]: 1<=a<b<c<=limit }",
    "count[0] = sum((a,b,c), (1 if a*a + b*b == c*c else 0))",
    [lp.GlobalArg("count", np.int32, shape=(1,)), lp.ValueArg("limit", np.int32)],
    name="triples",
    assumptions="limit>=3",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
RESULTS, EXPECTED = {}, {}
for limit in (5, 13, 40):
    evt, (count,) = knl(limit=limit)
    RESULTS[f"limit={limit}"] = count
    EXPECTED[f"limit={limit}"] = np.array(
        [
            sum(
                a * a + b * b == c * c
                for c in range(1, limit + 1)
                for b in range(1, c)
                for a in range(1, b)
            )
        ]
    )
