"""Four stages of Runge and Kutta for a chain of springs: a function, inlined."""

import loopy as lp
import numpy as np

force = lp.make_function(
    "{ [i]: 0<=i<12 }",
    "acc[i] = y[i] - 2*y[i+1] + y[i+2]",
    [lp.GlobalArg("acc", shape=(12,)), lp.GlobalArg("y", shape=(14,)), ...],
    name="force",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.make_kernel(
    "{ [k, i]: 0<=i<12 and 0<=k<14 }",
    "[i]: a[i] = force([k]: y[k])",
    [
        lp.GlobalArg("y", np.float64, shape=(14,)),
        lp.GlobalArg("a", np.float64, shape=(12,)),
    ],
    name="accelerate",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
prog = lp.inline_callable_kernel(lp.merge([force, knl]), "force")
y0 = np.zeros(14)
y0[1:-1] = np.random.default_rng(54).random(12)


def acceleration(y):
    """What the kernel computes."""
    return prog(y=np.ascontiguousarray(y))[1][0]


def by_numpy(y):
    """The same by NumPy."""
    return y[:-2] - 2 * y[1:-1] + y[2:]


def stage_sums(rhs, dt=0.1):
    """One step of the classical method for y' = v, v' = a(y)."""
    y, v = y0.copy(), np.zeros(12)
    ks = []
    for weight in (0, dt / 2, dt / 2, dt):
        shifted, speed = y.copy(), v.copy()
        if ks:
            shifted[1:-1] += weight * ks[-1][0]
            speed += weight * ks[-1][1]
        ks.append((speed, rhs(shifted)))
    total = [dt / 6 * (k[0] + 2 * k[1] + 2 * k[2] + k[3]) for k in zip(*ks, strict=True)]
    return y[1:-1] + total[0], v + total[1]


RESULTS = dict(zip(("y", "v"), stage_sums(acceleration), strict=True))
EXPECTED = dict(zip(("y", "v"), stage_sums(by_numpy), strict=True))
