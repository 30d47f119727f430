"""Pixels of eight bits: floor and clamp in single precision, stored as uint8, and back."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    <> level = fmin(fmax(floor(255.0f*img[i] + 0.5f), 0.0f), 255.0f)
    byte[i] = level
    back[i] = byte[i] / 255.0f
    """,
    [
        lp.GlobalArg("img, back", np.float32, shape="n"),
        lp.GlobalArg("byte", np.uint8, shape="n", is_input=False),
        lp.ValueArg("n", np.int32),
    ],
    seq_dependencies=True,
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 32, outer_tag="g.0", inner_tag="l.0")

img = np.random.default_rng(10).uniform(-0.1, 1.1, size=143).astype(np.float32)
evt, out = lp.set_options(knl, return_dict=True)(queue, img=cl.array.to_device(queue, img))

byte = np.clip(np.floor(np.float32(255) * img + np.float32(0.5)), 0, 255).astype(np.uint8)
RESULTS = {"byte": out["byte"].get(), "back": out["back"].get()}
EXPECTED = {"byte": byte, "back": byte.astype(np.float32) / np.float32(255)}
