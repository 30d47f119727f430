"""Newton's iteration with a break, written in C per point, on the host."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    [
        "<float64> target = y[i] {id=get}",
        "<float64> guess = 1.0 {id=guess, dep=get, inames=i}",
        lp.CInstruction(
            ("i",),
            """
            for (int it = 0; it < 60; ++it)
            {
                double f = guess*guess*guess + guess - target;
                double step = f / (3*guess*guess + 1);
                guess -= step;
                if (step*step < 1e-28)
                    break;
            }
            """,
            read_variables=frozenset({"guess", "target"}),
            assignees=("guess",),
            id="newton",
            depends_on=frozenset(["get", "guess"]),
        ),
        "root[i] = guess {id=put, dep=newton}",
    ],
    [lp.GlobalArg("y, root", np.float64, shape="n"), lp.ValueArg("n", np.int32)],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
exact = np.linspace(-2, 2, 33)
evt, (root,) = knl(y=exact**3 + exact)

RESULTS = {"root": root}
EXPECTED = {"root": exact}
