"""Two half sweeps over the points of one colour each: strided domains, in order."""

import loopy as lp
import numpy as np

knl = lp.make_kernel(
    [
        "{ [i,a]: 1<=i<n-1 and 1<=a<n-1 and (i + a) mod 2 = 0 }",
        "{ [j,b]: 1<=j<n-1 and 1<=b<n-1 and (j + b) mod 2 = 1 }",
    ],
    """
    p[i,a] = 0.25*(p[i-1,a] + p[i+1,a] + p[i,a-1] + p[i,a+1]) {id=red, dep=*}
    p[j,b] = 0.25*(p[j-1,b] + p[j+1,b] + p[j,b-1] + p[j,b+1]) {id=black, dep=*red}
    """,
    [lp.GlobalArg("p", np.float64, shape=("n", "n")), lp.ValueArg("n", np.int32)],
    name="red_black",
    assumptions="n>=3",
    target=lp.ExecutableCTarget(),
    lang_version=(2018, 2),
)
knl = lp.prioritize_loops(knl, "i,a")
knl = lp.prioritize_loops(knl, "j,b")
p = np.random.default_rng(44).random((12, 12))
p_dev = p.copy()
knl(p=p_dev)

rows, columns = np.indices(p.shape)
inner = (rows > 0) & (rows < 11) & (columns > 0) & (columns < 11)
for colour in (0, 1):
    mean = np.zeros_like(p)
    mean[1:-1, 1:-1] = 0.25 * (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:])
    p = np.where(inner & ((rows + columns) % 2 == colour), mean, p)
RESULTS = {"p": p_dev}
EXPECTED = {"p": p}
