"""A two-pass blur: the rows' pass is a rule, precomputed per tile in local memory."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i<h and 0<=j<w }",
    """
    rows(y, x) := img[y, x] + 2*img[y, x+1] + img[y, x+2]
    out[i, j] = (rows(i, j) + 2*rows(i+1, j) + rows(i+2, j)) / 16
    """,
    [
        lp.GlobalArg("img", np.float32, shape=("h+2", "w+2")),
        lp.GlobalArg("out", np.float32, shape=("h", "w")),
        lp.ValueArg("h, w", np.int32),
    ],
    assumptions="h mod 8 = 0 and w mod 8 = 0 and h >= 8 and w >= 8",
    name="blur",
    lang_version=(2018, 2),
)
ref_knl = knl
knl = lp.split_iname(knl, "i", 8, outer_tag="g.1", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 8, outer_tag="g.0", inner_tag="l.0")
knl = lp.precompute(knl, "rows", "i_inner, j_inner", default_tag="l.auto")

img = np.random.default_rng(2).uniform(size=(26, 34)).astype(np.float32)
evt, (out,) = knl(queue, img=cl.array.to_device(queue, img))
lp.auto_test_vs_ref(ref_knl, ctx, knl, parameters={"h": 16, "w": 24}, print_code=False)

rows = img[:, :-2] + 2 * img[:, 1:-1] + img[:, 2:]
RESULTS = {"out": out.get()}
EXPECTED = {"out": (rows[:-2] + 2 * rows[1:-1] + rows[2:]) / 16}
