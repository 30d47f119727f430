"""Two elementwise kernels in one, along an array: fuse_kernels with data_flow, C."""

import loopy as lp
import numpy as np

first = lp.make_kernel(
    "{ [i]: 0<=i<n }",
    "u[i] = exp(-x[i]*x[i]) {id=gauss}",
    [lp.GlobalArg("x,u", np.float64, shape="n"), "..."],
    name="gauss",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
second = lp.make_kernel(
    "{ [k]: 0<=k<n }",
    "v[k] = u[k] - mean {id=shift}",
    [lp.GlobalArg("u,v", np.float64, shape="n"), lp.ValueArg("mean", np.float64), "..."],
    name="shift",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
fused = lp.fuse_kernels([first, second], suffixes=["_a", "_b"], data_flow=[("u", 0, 1)])
ids = sorted(fused.default_entrypoint.id_to_insn)
inames = sorted(fused.default_entrypoint.all_inames())
fused = lp.rename_iname(fused, "k", "i", existing_ok=True)
fused = lp.set_options(fused, return_dict=True)

x = np.linspace(-2, 2, 67)
evt, found = fused(x=x, mean=0.25)

RESULTS = {"u": found["u"], "v": found["v"], "ids": ids, "inames": inames}
EXPECTED = {
    "u": np.exp(-(x**2)),
    "v": np.exp(-(x**2)) - 0.25,
    "ids": ["gauss", "shift"],
    "inames": ["i", "k"],
}
