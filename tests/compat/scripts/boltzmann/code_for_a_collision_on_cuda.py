"""CUDA text of a D3Q7 collision, its launch bounds and arguments."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [s,q,p]: 0<=s<n and 0<=q,p<7 }",
    """
    <> rho = sum(p, f[p,s]) {id=rho}
    g[q,s] = f[q,s] - omega*(f[q,s] - w[q]*rho) {id=relax, dep=rho}
    """,
    [
        lp.GlobalArg("f,g", np.float32, shape="7,n"),
        lp.ConstantArg("w", np.float32, shape=(7,)),
        lp.ValueArg("omega", np.float32),
        lp.ValueArg("n", np.int32),
    ],
    name="d3q7",
    target=lp.CudaTarget(),
    assumptions="n mod 128 = 0 and n >= 128",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "s", 128, outer_tag="g.0", inner_tag="l.0")
knl = lp.tag_inames(knl, {"p": "unr", "q": "unr"})
code = lp.generate_code_v2(knl).device_code()
result = lp.generate_code_v2(knl)
writes = lp.find_instructions(knl, "writes:g")

RESULTS = {
    "loops left": code.count("for ("),
    "stores": code.count("g["),
    "device programs": len(result.device_programs),
    "writers": [insn.id for insn in writes],
    "arguments": [arg.name for arg in knl.default_entrypoint.args],
}
EXPECTED = {
    "loops left": 0,
    "stores": 7,
    "device programs": 1,
    "writers": ["relax"],
    "arguments": ["f", "g", "w", "omega", "n"],
}
