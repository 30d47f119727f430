"""A histogram without atomics: each bin counts its values in a reduction over all of them."""

import loopy as lp
import numpy as np
import pyopencl as cl

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(16)
letters = rng.integers(0, 26, size=331).astype(np.uint8)

knl = lp.make_kernel(
    "{ [b,i]: 0<=b<26 and 0<=i<n }",
    """
    count[b] = sum(i, (1 if letters[i] == b else 0))
    """,
    [lp.GlobalArg("count", np.int32, shape=(26,)), ...],
    name="count_letters",
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"letters": np.uint8})
ref = knl
knl = lp.tag_inames(knl, {"b": "l.0"})
knl = lp.split_iname(knl, "i", 8, inner_tag="unr")
evt, (count,) = knl(queue, letters=letters)
evt, (ref_count,) = ref(queue, letters=letters)

RESULTS = {"count": count, "ref": ref_count}
EXPECTED = {key: np.bincount(letters, minlength=26) for key in RESULTS}
