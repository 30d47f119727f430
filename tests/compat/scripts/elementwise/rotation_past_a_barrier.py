"""An array moved round by one place: a global barrier, and temporaries saved across it."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    for i
        <> tmp = arr[i] {id=maketmp,dep=*}
        ... gbarrier {id=bar,dep=*maketmp}
        arr[(i+1) % n] = tmp {id=rotate,dep=*bar}
    end
    """,
    [lp.GlobalArg("arr", np.int32, shape=("n",), is_input=True), "..."],
    name="rotate_v2",
    assumptions="n mod 16 = 0",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 16, inner_tag="l.0", outer_tag="g.0")

knl = lp.preprocess_kernel(knl)
linearized = lp.get_one_linearized_kernel(knl["rotate_v2"], knl.callables_table)
knl = knl.with_kernel(linearized)
knl = lp.save_and_reload_temporaries(knl)
linearized = lp.get_one_linearized_kernel(knl["rotate_v2"], knl.callables_table)
knl = knl.with_kernel(linearized)

arr = np.arange(64, dtype=np.int32) ** 2
arr_dev = cl.array.to_device(queue, arr)
evt, (out,) = knl(queue, arr=arr_dev)

RESULTS = {"rotated": out.get()}
EXPECTED = {"rotated": np.roll(arr, 1)}
