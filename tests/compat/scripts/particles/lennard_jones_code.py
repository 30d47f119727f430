"""Lennard-Jones forces with a cutoff, in C: code is generated, run, and its flops are counted."""

import loopy as lp
import numpy as np

rng = np.random.default_rng(68)
n, cutoff = 17, 2.5
x = np.stack(np.meshgrid(np.arange(5), np.arange(4)), axis=-1).reshape(-1, 2)[:n] * 1.1
x = x + rng.normal(scale=0.05, size=x.shape)

knl = lp.make_kernel(
    "{ [i,j,a]: 0<=i,j<n and 0<=a<2 }",
    """
    for i
        <> fx = 0.0 {id=fx0}
        <> fy = 0.0 {id=fy0}
        for j
            <> dx = x[i,0] - x[j,0]
            <> dy = x[i,1] - x[j,1]
            <> r2 = dx*dx + dy*dy
            if i != j and r2 < cutoff*cutoff
                <> s6 = 1/(r2*r2*r2)
                <> w = 24*(2*s6*s6 - s6)/r2
                fx = fx + w*dx {id=fx1, dep=fx0}
                fy = fy + w*dy {id=fy1, dep=fy0}
            end
        end
        f[i,0] = fx {id=store0, dep=fx1}
        f[i,1] = fy {id=store1, dep=fy1}
    end
    """,
    [
        lp.GlobalArg("x,f", np.float64, shape="n,2"),
        lp.ValueArg("cutoff", np.float64),
        ...,
    ],
    name="lennard_jones",
    lang_version=(2018, 2),
    target=lp.ExecutableCTarget(),
)
knl = lp.remove_unused_inames(knl)
code = lp.generate_code_v2(knl).device_code()
evt, (f,) = knl(x=x, cutoff=cutoff)

d = x[:, None] - x
r2 = (d**2).sum(axis=2) + np.eye(n)
weight = np.where((r2 < cutoff**2) & ~np.eye(n, dtype=bool), 24 * (2 / r2**6 - 1 / r2**3) / r2, 0)
RESULTS = {"f": f, "inames": sorted(knl["lennard_jones"].all_inames()), "c": "double" in code}
EXPECTED = {"f": np.einsum("ij,ijd->id", weight, d), "inames": ["i", "j"], "c": True}
