"""A counting sort in one C function: counts, offsets, then a scatter in order of the input."""

import loopy as lp
import numpy as np

rng = np.random.default_rng(48)
keys = rng.integers(0, 10, size=73).astype(np.int32)

knl = lp.make_kernel(
    "{ [z,i,b,j]: 0<=z,b<nkeys and 0<=i,j<n }",
    """
    count[z] = 0
    count[keys[i]] = count[keys[i]] + 1
    <> total = 0
    for b
        offset[b] = total
        total = total + count[b]
    end
    for j
        sorted[offset[keys[j]]] = keys[j]
        origin[offset[keys[j]]] = j
        offset[keys[j]] = offset[keys[j]] + 1
    end
    """,
    [
        lp.GlobalArg("keys,sorted,origin", np.int32, shape="n"),
        lp.GlobalArg("count,offset", np.int32, shape="nkeys"),
        lp.ValueArg("n,nkeys", np.int32),
    ],
    seq_dependencies=True,
    name="counting_sort",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
knl = lp.fix_parameters(knl, nkeys=10)
knl = lp.set_options(knl, return_dict=True)
evt, out = knl(
    keys=keys,
    sorted=np.zeros_like(keys),
    origin=np.zeros_like(keys),
    count=np.zeros(10, np.int32),
    offset=np.zeros(10, np.int32),
)

RESULTS = {name: out[name] for name in ("sorted", "origin", "count")}
EXPECTED = {
    "sorted": np.sort(keys),
    "origin": np.argsort(keys, kind="stable"),
    "count": np.bincount(keys, minlength=10),
}
