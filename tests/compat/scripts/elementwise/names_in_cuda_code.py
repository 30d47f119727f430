"""An elementwise kernel for CUDA, never run: its text names the arguments and the indices."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "out[i] = 1/sqrt(a[i]) + offset",
    [
        lp.GlobalArg("a", np.float32, shape="n"),
        lp.GlobalArg("out", np.float32, shape="n"),
        lp.ValueArg("offset", np.float32),
        lp.ValueArg("n", np.int32),
    ],
    target=lp.CudaTarget(),
    name="inverse_of_root",
    assumptions="n>=1",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 256, outer_tag="g.0", inner_tag="l.0")
code = lp.generate_code_v2(knl).device_code()

RESULTS = {
    "is a kernel": "__global__" in code,
    "indices": ["blockIdx" in code, "threadIdx" in code, "get_global_id" in code],
    "name": "inverse_of_root" in code,
    "arguments": [arg.name for arg in knl.default_entrypoint.args],
    "types": [str(arg.dtype.numpy_dtype) for arg in knl.default_entrypoint.args],
    "tags": sorted(
        str(tag)
        for iname in ("i_outer", "i_inner")
        for tag in knl.default_entrypoint.iname_tags(iname)
    ),
}
EXPECTED = {
    "is a kernel": True,
    "indices": [True, True, False],
    "name": True,
    "arguments": ["a", "out", "offset", "n"],
    "types": ["float32", "float32", "float32", "int32"],
    "tags": ["g.0", "l.0"],
}
