"""Loops exchanged around an accumulator: privatize_temporaries_with_inames gives it an axis."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [im, i, k]: 0<=im<nm and 0<=i<4 and 0<=k<5 }",
    """
    for im, i
        <> acc = 0 {id=init}
        for k
            acc = acc + a[im, i, k]*vec[k] {id=step, dep=init}
        end
        res[im, i] = acc {dep=step}
    end
    """,
    [
        lp.GlobalArg("a", np.float64, shape=("nm", 4, 5)),
        lp.GlobalArg("vec", np.float64, shape=(5,)),
        lp.GlobalArg("res", np.float64, shape=("nm", 4)),
        lp.ValueArg("nm", np.int32),
    ],
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.privatize_temporaries_with_inames(knl, {"i"}, {"acc"})
knl = lp.duplicate_inames(knl, ["i"], within="id:init", new_inames=["i_init"])
knl = lp.duplicate_inames(knl, ["i"], within="writes:res", new_inames=["i_store"])
knl = lp.prioritize_loops(knl, "im,k,i")

rng = np.random.default_rng(13)
a, vec = rng.normal(size=(3, 4, 5)), rng.normal(size=5)
evt, (res,) = knl(a=a, vec=vec)

RESULTS = {"res": res, "acc": list(knl.default_entrypoint.temporary_variables["acc"].shape)}
EXPECTED = {"res": a @ vec, "acc": [4]}
