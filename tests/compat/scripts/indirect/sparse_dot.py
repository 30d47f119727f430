"""Dot products of pairs of sparse vectors whose sorted indices are compared with one another."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

rng = np.random.default_rng(52)
npairs, length, dim = 9, 6, 20
ia = np.sort(np.stack([rng.choice(dim, length, replace=False) for _ in range(npairs)]))
ib = np.sort(np.stack([rng.choice(dim, length, replace=False) for _ in range(npairs)]))
va, vb = rng.normal(size=(2, npairs, length))

knl = lp.make_kernel(
    "{ [p,k,l]: 0<=p<npairs and 0<=k,l<length }",
    """
    match(k_, l_) := ia[p, k_] == ib[p, l_]
    dot[p] = sum((k,l), (va[p,k]*vb[p,l] if match(k,l) else 0.0))
    overlap[p] = sum((k,l), (1 if match(k,l) else 0))
    """,
    [lp.GlobalArg("dot,overlap", shape="npairs"), "..."],
    lang_version=(2018, 2),
)
knl = lp.add_dtypes(knl, {"ia": np.int64, "ib": np.int64, "va": np.float64, "vb": np.float64})
knl = lp.set_options(knl, return_dict=True)
knl = lp.duplicate_inames(knl, "k,l", "writes:overlap", new_inames=["k2", "l2"])
knl = lp.expand_subst(knl)
arrays = {"ia": ia, "ib": ib, "va": va, "vb": vb}
evt, out = knl(queue, **{name: cl.array.to_device(queue, a) for name, a in arrays.items()})

full_a, full_b = np.zeros((2, npairs, dim))
np.put_along_axis(full_a, ia, va, axis=1)
np.put_along_axis(full_b, ib, vb, axis=1)
RESULTS = {"dot": out["dot"].get(), "overlap": out["overlap"].get()}
EXPECTED = {
    "dot": (full_a * full_b).sum(axis=1),
    "overlap": ((full_a != 0) & (full_b != 0)).sum(axis=1),
}
