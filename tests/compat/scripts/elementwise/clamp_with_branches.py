"""Values clamped to an interval by if/elif/else blocks, counted by kind; private temporaries."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    for i
        <> v = x[i]
        if v < lo
            out[i] = lo {id=out_below, nosync=out_*}
            kind[i] = -1 {id=kind_below, nosync=kind_*}
        elif v > hi
            out[i] = hi {id=out_above, nosync=out_*}
            kind[i] = 1 {id=kind_above, nosync=kind_*}
        else
            out[i] = v {id=out_inside, nosync=out_*}
            kind[i] = 0 {id=kind_inside, nosync=kind_*}
        end
    end
    """,
    [
        lp.GlobalArg("x,out", np.float64, shape=lp.auto),
        lp.GlobalArg("kind", np.int32, shape=lp.auto),
        lp.ValueArg("lo,hi", np.float64),
        "...",
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.set_options(knl, return_dict=True)
x = np.random.default_rng(3).normal(size=77)
evt, found = knl(x=x.copy(), lo=-0.5, hi=0.75)

RESULTS = {"clamped": found["out"], "kind": found["kind"]}
EXPECTED = {
    "clamped": np.clip(x, -0.5, 0.75),
    "kind": np.where(x < -0.5, -1, np.where(x > 0.75, 1, 0)),
}
