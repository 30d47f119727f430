"""Bytes that a parallel stencil loads and stores: get_mem_access_map, to_bytes, filter_by."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "out[i] = a[i]*f[i] + a[i+1]*f[i+1] + a[i+2]*f[i+2]",
    [
        lp.GlobalArg("a", np.float32, shape="n+2"),
        lp.GlobalArg("f, out", np.float64, shape="n+2"),
        lp.ValueArg("n", np.int32),
    ],
    assumptions="n mod 128 = 0 and n >= 128",
    lang_version=(2018, 2),
)
knl = lp.split_iname(knl, "i", 128, outer_tag="g.0", inner_tag="l.0")
mem_map = lp.get_mem_access_map(knl, subgroup_size=32)
byte_map = mem_map.to_bytes()
params = {"n": 1024}

RESULTS = {
    "loads": byte_map.filter_by(direction=["load"]).eval_and_sum(params),
    "stores": byte_map.filter_by(direction=["store"], variable=["out"]).eval_and_sum(params),
    "loads of a": mem_map.filter_by(direction=["load"], variable=["a"]).eval_and_sum(params),
    "unit stride": mem_map.filter_by_func(lambda key: dict(key.lid_strides) == {0: 1}).eval_and_sum(
        params
    ),
}
EXPECTED = {
    "loads": 1024 * 3 * (4 + 8),
    "stores": 1024 * 8,
    "loads of a": 1024 * 3,
    "unit stride": 1024 * 7,
}
