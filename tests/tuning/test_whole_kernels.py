"""`optimize_reductions` on whole kernels: nests beside reductions, scalars, several lengths."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np

import polygen as pg
from benchmarks.on_gpu.graphs import Graph, random_graph
from benchmarks.on_gpu.run_graphs import function, kernel
from polygen.ir.kernel import Kernel
from tests.few import few

H200 = pg.Limits.named("H200")
KERNELS: dict[str, tuple[str, str, dict[str, tuple[int, ...]]]] = {
    "a scalar in a nest beside a reduction": (
        "{ [i,j,k]: 0<=i<64 and 0<=j,k<512 }",
        "<> t = a[i,j]*b[0]\nout[i,j] = t\ns[i] = sum(k, a[i,k])",
        {"a": (64, 512), "b": (1,)},
    ),
    "a nest that adds a row sum to another nest": (
        "{ [i,j,k,l,m,n]: 0<=i,k,m<64 and 0<=j,l,n<512 }",
        "s[i] = sum(j, a[i,j])\nu[k,l] = 2*a[k,l]\nout[m,n] = s[m] + u[m,n]",
        {"a": (64, 512)},
    ),
    "sums of columns beside rows that items keep": (
        "{ [i,j,k,l]: 0<=i,k<1024 and 0<=j,l<64 }",
        "m[i] = sum(j, a[i,j])\nv[i] = sum(j, a[i,j] - m[i])\nc[l] = sum(k, b[k,l])",
        {"a": (1024, 64), "b": (1024, 64)},
    ),
    "scalars that one launch passes on to others": (
        "{ [i,j,k]: 0<=i,j<70000 and 0<=k<513 }",
        "<> x = max(i, a[i])\n<> y = sum(j, a[j] - x)\nout[k] = b[k]*y + x",
        {"a": (70000,), "b": (513,)},
    ),
    "sums of two lengths": (
        "{ [i,j,k]: 0<=i,j<4096 and 0<=k<513 }",
        "<> x = sum(i, a[i])\n<> y = sum(j, a[j]*a[j])\n<> z = sum(k, b[k])\n"
        "out[0] = x\ns[0] = y\nu[0] = z",
        {"a": (4096,), "b": (513,)},
    ),
}
RIGHT: dict[str, Any] = {
    "a scalar in a nest beside a reduction": lambda a, b: {"out": a * b[0], "s": a.sum(1)},
    "a nest that adds a row sum to another nest": lambda a: {
        "s": a.sum(1),
        "u": 2 * a,
        "out": a.sum(1)[:, None] + 2 * a,
    },
    "sums of columns beside rows that items keep": lambda a, b: {
        "m": a.sum(1),
        "v": (a - a.sum(1)[:, None]).sum(1),
        "c": b.sum(0),
    },
    "scalars that one launch passes on to others": lambda a, b: {
        "out": b * (a - a.max()).sum() + a.max()
    },
    "sums of two lengths": lambda a, b: {"out": a.sum(), "s": (a * a).sum(), "u": b.sum()},
}
ARRAYS: Any = SimpleNamespace(**vars(np), permute=np.transpose)


def largest_group(knl: Kernel) -> int:
    source = str(pg.generate_code(knl, "cuda").source)
    return max(int(n) for n in re.findall(r"__launch_bounds__\((\d+)", source))


@few(2, "name", KERNELS)
def test_nests_beside_reductions(name: str) -> None:
    domains, text, shapes = KERNELS[name]
    rng = np.random.default_rng(3)
    given = {array: rng.random(shape) for array, shape in shapes.items()}
    knl = pg.make_kernel(domains, text, silenced_warnings=["AmbiguousNesting"])
    knl = pg.optimize_reductions(pg.add_dtypes(knl, dict.fromkeys(given, "float64")), H200)
    assert largest_group(knl) <= 1024
    _, found = knl.executor("c")(**given)
    outputs = [arg.name for arg in knl.arguments if arg.name in knl.writers]
    for array, value in zip(outputs, found, strict=True):
        wanted = np.asarray(RIGHT[name](**given)[array]).reshape(value.shape)
        np.testing.assert_allclose(value, wanted, rtol=1e-12, err_msg=array)


def of_graph(graph: Graph) -> tuple[Any, Any]:
    """Return what a graph's kernel and NumPy compute of the same random numbers."""
    rng = np.random.default_rng(graph.seed)
    given: dict[str, Any] = {
        v.name: rng.integers(-3, 4, graph.shape(v.name)).astype(v.dtype) for v in graph.inputs
    }
    knl = pg.optimize_reductions(kernel(graph), H200)
    assert largest_group(knl) <= 1024
    _, found = knl.executor("c")(**given)
    outputs = [arg.name for arg in knl.arguments if arg.name in knl.writers]
    wanted = function(graph)(ARRAYS, lambda x, dtype: np.asarray(x).astype(dtype), **given)
    names = [value.name for value in graph.outputs]
    return dict(zip(outputs, found, strict=True)), dict(zip(names, wanted, strict=True))


@few(2, "seed", [30, 41, 47, 65])
def test_random_graphs(seed: int) -> None:
    found, wanted = of_graph(random_graph(seed))
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        scale = 3e-2 * (1e-3 + np.abs(np.asarray(value, np.float64)).max())
        difference = found[name].astype(np.float64).ravel() - np.asarray(value).ravel()
        assert np.abs(difference).max() <= scale, name
