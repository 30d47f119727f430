"""A source injected and receivers recorded within a time loop: three instructions of one loop."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    "[nt,nx,nr,src] -> { [t,x,r]: 1<=t<nt-1 and 1<=x<nx-1 and 0<=r<nr }",
    """
    for t
        p[t+1,x] = 2*p[t,x] - p[t-1,x] + c[x]*(p[t,x+1] - 2*p[t,x] + p[t,x-1]) {id=step, dep=*}
        p[t+1,src] = p[t+1,src] + wavelet[t] {id=inject, dep=*step}
        rec[r,t] = p[t+1, where[r]] {id=record, dep=*inject}
    end
    """,
    [
        lp.GlobalArg("p", np.float64, shape="nt,nx"),
        lp.GlobalArg("c", np.float64, shape="nx"),
        lp.GlobalArg("wavelet", np.float64, shape="nt"),
        lp.GlobalArg("rec", np.float64, shape="nr,nt"),
        lp.GlobalArg("where", np.int32, shape="nr"),
        lp.ValueArg("src,nt,nx,nr", np.int32),
    ],
    name="shot",
    assumptions="nt>=3 and nx>=3 and nr>=1 and 0<=src<nx",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "t,x")
knl = lp.prioritize_loops(knl, "t,r")
nt, nx = 21, 30
where = np.array([3, 11, 24], dtype=np.int32)
time = np.arange(nt) / 4
wavelet = (1 - 2 * time**2) * np.exp(-(time**2))
c = np.linspace(0.1, 0.6, nx)
p_dev, rec = np.zeros((nt, nx), float), np.zeros((3, nt), float)
knl(p=p_dev, c=c, wavelet=wavelet, rec=rec, where=where, src=13)

p, traces = np.zeros((nt, nx)), np.zeros((3, nt))
for t in range(1, nt - 1):
    lap = p[t, 2:] - 2 * p[t, 1:-1] + p[t, :-2]
    p[t + 1, 1:-1] = 2 * p[t, 1:-1] - p[t - 1, 1:-1] + c[1:-1] * lap
    p[t + 1, 13] += wavelet[t]
    traces[:, t] = p[t + 1, where]
RESULTS = {"pressure": p_dev, "traces": rec}
EXPECTED = {"pressure": p, "traces": traces}
