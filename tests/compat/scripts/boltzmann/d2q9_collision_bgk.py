"""The BGK collision of D2Q9 with equilibria by a rule of the direction."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "{ [s,q,a,b,c]: 0<=s<n and 0<=q,a,b,c<9 }",
    """
    cu(d) := cx[d]*u + cy[d]*v
    feq(d) := w[d]*rho*(1 + 3*cu(d) + 4.5*cu(d)*cu(d) - 1.5*(u*u + v*v))
    for s
        <> rho = sum(a, f[s,a]) {id=rho}
        <> u = sum(b, cx[b]*f[s,b])/rho {id=u, dep=rho}
        <> v = sum(c, cy[c]*f[s,c])/rho {id=v, dep=rho}
        g[s,q] = f[s,q] + (feq(q) - f[s,q])/tau {id=relax, dep=u:v}
    end
    """,
    [
        lp.GlobalArg("f,g", np.float64, shape="n,9"),
        lp.ConstantArg("w,cx,cy", np.float64, shape="9"),
        lp.ValueArg("tau", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="bgk",
    assumptions="n>=1",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.fix_parameters(knl, tau=0.8)
rules = lp.find_rules_matching(knl.default_entrypoint, "*")
knl = lp.expand_subst(knl)
knl = lp.tag_inames(knl, "q:unr")
cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1.0])
cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1.0])
w = np.array([16, 4, 4, 4, 4, 1, 1, 1, 1]) / 36
f = 0.5 + np.random.default_rng(92).random((19, 9))
evt, (g,) = knl(f=f, w=w, cx=cx, cy=cy)

rho = f.sum(axis=1)
u, v = f @ cx / rho, f @ cy / rho
cu = np.outer(u, cx) + np.outer(v, cy)
feq = w * rho[:, None] * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * (u * u + v * v)[:, None])
RESULTS = {"g": g, "mass": g.sum(axis=1), "rules": sorted(rules)}
EXPECTED = {"g": f + (feq - f) / 0.8, "mass": rho, "rules": ["cu", "feq"]}
