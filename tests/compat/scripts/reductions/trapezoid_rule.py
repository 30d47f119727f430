"""The trapezoid rule for several integrands at once: functions of the nodes, halves at the ends."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)

n = 200
knl = lp.make_kernel(
    "{ [f,i]: 0<=f<nfreq and 0<=i<=n }",
    """
    t(k) := lo + k*(hi - lo)/n
    weight(k) := (0.5 if k == 0 or k == n else 1.0)
    integral[f] = sum(i, weight(i)*cos(f*t(i))*exp(-t(i))) * (hi - lo)/n
    """,
    [
        lp.GlobalArg("integral", np.float64, shape="nfreq"),
        lp.ValueArg("lo,hi", np.float64),
        lp.ValueArg("n,nfreq", np.int32),
    ],
    lang_version=(2018, 2),
)
knl = lp.tag_inames(knl, {"f": "l.0"})
knl = lp.fix_parameters(knl, nfreq=6)
evt, (integral,) = knl(queue, lo=0.0, hi=4.0, n=n, integral=cl.array.zeros(queue, 6, np.float64))

t = np.linspace(0, 4, n + 1)
RESULTS = {"integral": integral.get()}
EXPECTED = {"integral": np.array([np.trapezoid(np.cos(f * t) * np.exp(-t), t) for f in range(6)])}
