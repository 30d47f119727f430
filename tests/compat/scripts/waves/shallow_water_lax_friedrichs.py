"""Shallow water by Lax and Friedrichs: several fields, fluxes as rules with two arguments."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [i]: 1<=i<n-1 }",
    """
    vel(k) := hu[k]/h[k]
    flux_h(k) := hu[k]
    flux_hu(k) := hu[k]*vel(k) + 0.5*grav*h[k]*h[k]
    h_new[i] = 0.5*(h[i-1] + h[i+1]) - 0.5*ratio*(flux_h(i+1) - flux_h(i-1)) {id=mass}
    hu_new[i] = 0.5*(hu[i-1] + hu[i+1]) - 0.5*ratio*(flux_hu(i+1) - flux_hu(i-1)) {id=momentum}
    """,
    [
        lp.GlobalArg("h,hu,h_new,hu_new", np.float64, shape="n"),
        lp.ValueArg("grav,ratio", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="shallow_water",
    assumptions="n>=3",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
rules = sorted(lp.find_rules_matching(knl.default_entrypoint, "flux_*"))
knl = lp.tag_instructions(knl, "update")
tagged = [insn.id for insn in lp.find_instructions(knl, "tag:update")]
rng = np.random.default_rng(42)
h, hu = 1 + rng.random(39), rng.normal(size=39)
h_new, hu_new = h.copy(), hu.copy()
knl(h=h, hu=hu, h_new=h_new, hu_new=hu_new, grav=9.81, ratio=0.05)

g = hu * hu / h + 0.5 * 9.81 * h * h
h_np, hu_np = h.copy(), hu.copy()
h_np[1:-1] = 0.5 * (h[:-2] + h[2:]) - 0.025 * (hu[2:] - hu[:-2])
hu_np[1:-1] = 0.5 * (hu[:-2] + hu[2:]) - 0.025 * (g[2:] - g[:-2])
RESULTS = {"h": h_new, "hu": hu_new, "rules": rules, "tagged": sorted(tagged)}
EXPECTED = {
    "h": h_np,
    "hu": hu_np,
    "rules": ["flux_h", "flux_hu"],
    "tagged": ["mass", "momentum"],
}
