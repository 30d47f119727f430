"""CUDA code of a tiled transpose: it is looked through for shared memory and barriers."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, j]: 0<=i,j<n }",
    "out[j, i] = inp[i, j]",
    [lp.GlobalArg("inp, out", np.float32, shape=("n", "n")), lp.ValueArg("n", np.int32)],
    assumptions="n mod 16 = 0 and n >= 16",
    target=lp.CudaTarget(),
    name="transpose",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.0")
knl = lp.split_iname(knl, "j", 16, outer_tag="g.1", inner_tag="l.1")
knl = lp.add_prefetch(knl, "inp", ["i_inner", "j_inner"], default_tag="l.auto")
result = lp.generate_code_v2(knl)
code = result.device_code()

RESULTS = {
    "programs": [program.name for program in result.device_programs],
    "shared": "__shared__" in code,
    "waits": "__syncthreads" in code,
}
EXPECTED = {
    "programs": ["transpose"],
    "shared": True,
    "waits": True,
}
