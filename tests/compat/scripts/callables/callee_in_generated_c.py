"""A program with a function as C: both functions are in the code, and it calls one."""

import re

import loopy as lp
import numpy as np

blur = lp.make_function(
    "{ [i]: 1<=i<31 }",
    "fine[i] = (coarse[i-1] + coarse[i+1])/2",
    [lp.GlobalArg("coarse, fine", shape=(32,))],
    name="midpoints",
    target=lp.CTarget(),
    lang_version=(2018, 2),
)
knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<32 }",
    "[i]: b[i] = midpoints([j]: a[j])",
    [lp.GlobalArg("a, b", np.float32, shape=(32,))],
    name="refine",
    target=lp.CTarget(),
    lang_version=(2018, 2),
)
prog = lp.merge([knl, blur])
code = lp.generate_code_v2(prog).device_code()
inlined = lp.generate_code_v2(lp.inline_callable_kernel(prog, "midpoints")).device_code()

RESULTS = {
    "both": [bool(re.search(rf"\b{name}\s*\(", code)) for name in ("refine", "midpoints")],
    "mentions": len(re.findall(r"\bmidpoints\b", code)) > 1,
    "after inlining": len(re.findall(r"\bmidpoints\b", inlined)),
}
EXPECTED = {"both": [True, True], "mentions": True, "after inlining": 0}
