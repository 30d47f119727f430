"""The header and the body that are generated for OpenCL, asked for the names of arguments."""

import re

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [row, col]: 0<=row<nrows and 0<=col<ncols }",
    "scaled[row, col] = weight[row]*field[row, col]",
    [
        lp.GlobalArg("scaled", np.float64, shape=("nrows", "ncols")),
        lp.GlobalArg("weight", np.float64, shape="nrows"),
        lp.GlobalArg("field", np.float64, shape=("nrows", "ncols")),
        lp.ValueArg("nrows,ncols", np.int32),
    ],
    target=lp.OpenCLTarget(),
    name="scale_rows",
    lang_version=(2018, 2),
)
knl = lp.rename_argument(knl, "field", "u")
knl = lp.set_argument_order(knl, "nrows,ncols,u,weight,scaled")
header = str(lp.generate_header(knl)[0])
inside = header[header.index("scale_rows(") + 11 : header.rindex(")")]
names = [re.findall(r"\w+", part)[-1] for part in inside.split(",")]
body = lp.generate_body(knl)
pointers = [part.count("*") for part in inside.split(",")]

RESULTS = {
    "name": re.findall(r"(\w+)\s*\(", header)[-1],
    "arguments": names,
    "pointers": pointers,
    "global": header.count("__global"),
    "loops": body.count("for ("),
}
EXPECTED = {
    "name": "scale_rows",
    "arguments": ["nrows", "ncols", "u", "weight", "scaled"],
    "pointers": [0, 0, 1, 1, 1],
    "global": 3,
    "loops": 2,
}
