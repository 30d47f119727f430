"""Reductions that share inames are given inames of their own; what a kernel says of them."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,j]: 0<=i<n and 0<=j<6 }",
    """
    rows[i] = sum(j, a[i,j])   {id=rows}
    peak[i] = max(j, a[i,j])   {id=peak}
    """,
    [lp.GlobalArg("a", np.float32, shape=("n", 6)), "..."],
    name="shared",
    lang_version=(2018, 2),
)
shared = knl["shared"]
parted = lp.make_reduction_inames_unique(knl)["shared"]
tagged = lp.tag_inames(lp.make_reduction_inames_unique(knl), {"i": "g.0"})["shared"]

RESULTS = {
    "shared": sorted(shared.id_to_insn["rows"].reduction_inames()),
    "same": shared.id_to_insn["peak"].reduction_inames()
    == shared.id_to_insn["rows"].reduction_inames(),
    "parted": len(
        parted.id_to_insn["peak"].reduction_inames() | parted.id_to_insn["rows"].reduction_inames()
    ),
    "within": sorted(tagged.id_to_insn["peak"].within_inames),
    "all": len(parted.all_inames()),
    "arguments": sorted(arg.name for arg in tagged.args),
}
EXPECTED = {
    "shared": ["j"],
    "same": True,
    "parted": 2,
    "within": ["i"],
    "all": 3,
    "arguments": ["a", "n", "peak", "rows"],
}
