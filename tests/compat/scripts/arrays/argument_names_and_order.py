"""Renames an argument, drops one that is not used, orders the rest; the header says so."""

import re

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "z[i] = x[i] * y[i]",
    [
        lp.GlobalArg("unused", np.float32, shape="n"),
        lp.GlobalArg("x, y, z", np.float32, shape="n"),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.CTarget(),
    name="times",
    lang_version=(2018, 2),
)
knl = lp.remove_unused_arguments(knl)
knl = lp.rename_argument(knl, "z", "product")
knl = lp.set_argument_order(knl, ["n", "product", "y", "x"])
(header,) = lp.generate_header(knl)

RESULTS = {
    "order": [arg.name for arg in knl.default_entrypoint.args],
    "in header": re.findall(r"\b(n|product|x|y|unused)\b", str(header)),
}
EXPECTED = {
    "order": ["n", "product", "y", "x"],
    "in header": ["n", "product", "y", "x"],
}
