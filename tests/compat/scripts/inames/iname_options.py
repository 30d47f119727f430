"""Nests that no order fits: the options of duplication are asked for, one is taken."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i,j,k]: 0<=i,j,k<8 }",
    """
    <> x[i] = 1.0      {id=one, inames=i}
    <> y[j] = x[j]     {id=two, dep=one, inames=j}
    out[i,j] = y[j]*j  {id=three, dep=two, inames=i:j}
    """,
    [lp.GlobalArg("out", np.float64, shape=(8, 8)), ...],
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
schedulable = lp.has_schedulable_iname_nesting(knl)
options = list(lp.get_iname_duplication_options(knl))
knl = lp.duplicate_inames(knl, "i", "id:three", new_inames="i_three")
knl = lp.duplicate_inames(knl, "j", "id:three", new_inames="j_three")
knl = lp.prioritize_loops(knl, "i_three,j_three")
knl = lp.remove_unused_inames(knl)
evt, (out,) = knl()

RESULTS = {
    "before": schedulable,
    "options": len(options) > 0,
    "after": lp.has_schedulable_iname_nesting(knl),
    "out": out,
}
EXPECTED = {
    "before": False,
    "options": True,
    "after": True,
    "out": np.tile(np.arange(8.0), (8, 1)),
}
