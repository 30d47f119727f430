"""Whole steps of D2Q5: a program of a kernel and a function for the equilibria, run ten times."""

import loopy as lp
import numpy as np
import pyopencl as cl
import pyopencl.array

ctx = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(ctx)
equilibrium = lp.make_function(
    "{ [q]: 0<=q<5 }",
    "eq[q] = w[q]*rho",
    [
        lp.GlobalArg("eq", shape=(5,)),
        lp.GlobalArg("w", shape=(5,)),
        lp.ValueArg("rho"),
    ],
    name="equilibrium",
    lang_version=(2018, 2),
)
collide = lp.make_kernel(
    "{ [s,q,p,k]: 0<=s<n and 0<=q,p,k<5 }",
    """
    for s
        <> rho = sum(p, f[s,p]) {id=rho, dep=*}
        [k]: eq[s,k] = equilibrium([k]: w[k], rho) {id=call, dep=rho}
        f[s,q] = f[s,q] + omega*(eq[s,q] - f[s,q]) {id=relax, dep=call}
    end
    """,
    [
        lp.GlobalArg("f", np.float64, shape=("n", 5)),
        lp.GlobalArg("eq", np.float64, shape=("n", 5), is_input=False),
        lp.GlobalArg("w", np.float64, shape=(5,)),
        lp.ValueArg("omega", np.float64),
        lp.ValueArg("n", np.int32),
    ],
    name="collide",
    lang_version=(2018, 2),
)
prog = lp.merge([collide, equilibrium])
prog = lp.inline_callable_kernel(prog, "equilibrium")
prog = lp.split_iname(prog, "s", 4, outer_tag="g.0", inner_tag="l.0")
w = np.array([1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6])
f = np.random.default_rng(100).random((30, 5))
f_dev = cl.array.to_device(queue, f)
for _ in range(10):
    prog(queue, f=f_dev, w=w, omega=0.3)

for _ in range(10):
    f += 0.3 * (w * f.sum(axis=1, keepdims=True) - f)
RESULTS = {"f": f_dev.get(), "callables": "equilibrium" in prog.callables_table}
EXPECTED = {"f": f, "callables": False}
