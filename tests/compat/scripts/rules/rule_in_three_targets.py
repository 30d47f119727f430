"""One kernel with a rule as OpenCL, CUDA and C: the rule is in no code, its argument in all."""

import loopy as lp
import numpy as np

codes = {}
for name, target in (
    ("opencl", lp.OpenCLTarget()),
    ("cuda", lp.CudaTarget()),
    ("c", lp.CTarget()),
):
    knl = lp.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        logistic(v) := rate*v*(1 - v)
        nxt[i] = logistic(population[i])
        """,
        [
            lp.GlobalArg("population, nxt", np.float32, shape="n"),
            lp.ValueArg("rate", np.float32),
            lp.ValueArg("n", np.int32),
        ],
        target=target,
        name="logistic_map",
        lang_version=(2018, 2),
    )
    if name != "c":
        knl = lp.split_iname(knl, "i", 128, outer_tag="g.0", inner_tag="l.0")
    codes[name] = lp.generate_code_v2(knl).device_code()

RESULTS = {
    name: ["logistic_map" in code, "logistic(" in code, code.count("population") >= 2]
    for name, code in codes.items()
}
EXPECTED = {name: [True, False, True] for name in ("opencl", "cuda", "c")}
