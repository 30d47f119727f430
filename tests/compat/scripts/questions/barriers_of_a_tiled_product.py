"""How often a work item waits in a tiled product: get_synchronization_map."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i, j, k]: 0<=i,j,k<n }",
    "c[i, j] = sum(k, a[i, k]*b[k, j])",
    [lp.GlobalArg("a, b, c", np.float32, shape=("n", "n")), lp.ValueArg("n", np.int32)],
    assumptions="n mod 16 = 0 and n >= 16",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, outer_tag="g.0", inner_tag="l.1")
knl = lp.split_iname(knl, "j", 16, outer_tag="g.1", inner_tag="l.0")
knl = lp.split_iname(knl, "k", 16)
for name, sweep in (("a", ["k_inner", "i_inner"]), ("b", ["j_inner", "k_inner"])):
    knl = lp.add_prefetch(
        knl, name, sweep, fetch_outer_inames="i_outer, j_outer, k_outer", default_tag="l.auto"
    )

sync_map = lp.get_synchronization_map(knl, subgroup_size=32)
counts = {}
for sync, count in sync_map.items():
    counts[sync.kind] = count.eval_with_dict({"n": 256})

RESULTS = {"local": counts["barrier_local"], "launches": counts["kernel_launch"]}
EXPECTED = {"local": 2 * 256 // 16, "launches": 1}
