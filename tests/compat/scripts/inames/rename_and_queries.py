"""Inames renamed, removed and tagged again; what holds of them is asked of the kernel."""

import loopy as lp
import numpy as np
from loopy.kernel.data import GroupInameTag

knl = lp.make_kernel(
    "{ [i,j,unused]: 0<=i<n and 0<=j<5 and 0<=unused<3 }",
    """
    x[i] = i        {id=x}
    y[i,j] = 2*i+j  {id=y}
    """,
    [lp.GlobalArg("x,y", np.int32, shape=lp.auto), ...],
    name="asked",
    lang_version=(2018, 2),
)
knl = lp.remove_unused_inames(knl)
knl = lp.rename_iname(knl, "j", "col")
knl = lp.rename_iname(knl, "i", "row", within="id:y", preserve_tags=True)
knl = lp.tag_inames(knl, {"col": "l.0", "row": "g.0"})
kernel = lp.untag_inames(knl["asked"], "row", GroupInameTag)
knl = knl.with_kernel(kernel)

RESULTS = {
    "inames": sorted(kernel.all_inames()),
    "of y": sorted(kernel.insn_inames("y")),
    "to insns": {name: sorted(ids) for name, ids in kernel.iname_to_insns().items()},
    "tagged": {name: len(kernel.iname_tags(name)) for name in ("row", "col")},
    "params": sorted(kernel.all_params()),
}
EXPECTED = {
    "inames": ["col", "i", "row"],
    "of y": ["col", "row"],
    "to insns": {"i": ["x"], "col": ["y"], "row": ["y"]},
    "tagged": {"row": 0, "col": 1},
    "params": ["n"],
}
