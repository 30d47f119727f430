"""What a local operator consists of: inames, readers, writers, dependencies and shapes."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [e,i,j,q]: 0<=e<ne and 0<=i,j<4 and 0<=q<6 }",
    """
    <> scale = det[e] {id=scale}
    K[e,i,j] = scale*sum(q, w[q]*dphi[i,q]*dphi[j,q]) {id=local, dep=scale, tags=element}
    diag[e,i] = K[e,i,i] {id=diag, dep=local, tags=element:last}
    """,
    [
        lp.GlobalArg("det", np.float64, shape="ne"),
        lp.GlobalArg("K", np.float64, shape=("ne", 4, 4)),
        lp.GlobalArg("diag", np.float64, shape=("ne", 4)),
        lp.ConstantArg("w", np.float64, shape=(6,)),
        lp.ConstantArg("dphi", np.float64, shape=(4, 6)),
        lp.ValueArg("ne", np.int32),
    ],
    name="stiffness",
    lang_version=(2018, 2),
)
entry = knl["stiffness"]
found = lp.find_instructions(knl, "tag:element and not id:diag")

RESULTS = {
    "inames": sorted(entry.all_inames()),
    "parameters": sorted(entry.all_params()),
    "written": sorted(entry.get_written_variables()),
    "readers of K": sorted(entry.reader_map()["K"]),
    "writers of K": sorted(entry.writer_map()["K"]),
    "within": sorted(entry.insn_inames("local")),
    "found": [insn.id for insn in found],
    "arguments": [arg.name for arg in entry.args],
    "all that diag needs": sorted(entry.recursive_insn_dep_map()["diag"]),
}
EXPECTED = {
    "inames": ["e", "i", "j", "q"],
    "parameters": ["ne"],
    "written": ["K", "diag", "scale"],
    "readers of K": ["diag"],
    "writers of K": ["local"],
    "within": ["e", "i", "j"],
    "found": ["local"],
    "arguments": ["det", "K", "diag", "w", "dphi", "ne"],
    "all that diag needs": ["local", "scale"],
}
