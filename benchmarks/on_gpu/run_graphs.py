"""Random graphs on a GPU: with polygen, and with PyTorch call by call, or compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

import polygen as pg
from benchmarks.on_gpu.graphs import Graph, polygen_text, python_text

LIBRARIES = ("polygen", "eager", "compiled")
BEYOND_CACHE, MOST_SETS = 2**28, 64  # bytes of all arrays, and how many sets there are at most
TOLERANCE = {False: 1e-4, True: 3e-2}  # of the largest result: of floats, and if there are halves


def kernel(graph: Graph, strides: Mapping[str, tuple[int, ...]] | None = None) -> pg.Kernel:
    """Return what a user writes: an instruction for each value.

    Parameters:
        graph: the graph.
        strides: those of results, in elements; row-major if not given.
    """
    domains, lines, inside = polygen_text(graph)
    arrays = [
        pg.GlobalArg(
            v.name,
            v.dtype,
            graph.shape(v.name),
            strides=(strides or {}).get(v.name),
            alignment=16,
        )
        for v in [*graph.inputs, *graph.outputs]
    ]
    kept = [pg.TemporaryVariable(n, graph.by_name[n].dtype, graph.shape(n)) for n in inside]
    return pg.make_kernel(domains, lines, [*arrays, *kept, "..."], name=f"graph_{graph.seed}")


def function(graph: Graph) -> Callable[..., Any]:
    """Return what a user of PyTorch or NumPy writes."""
    found: dict[str, Any] = {}
    exec(python_text(graph), found)  # noqa: S102  (graphs.py writes it)
    made: Callable[..., Any] = found["graph"]
    return made


def random_inputs(graph: Graph, count: int) -> list[dict[str, Any]]:
    """Return several sets of arrays."""
    torch: Any = import_module("torch")

    def array(shape: Sequence[int], dtype: str) -> Any:
        if dtype == "int32":
            return torch.randint(-3, 4, shape, dtype=torch.int32, device="cuda")
        numbers = torch.empty(shape, dtype=torch.float32, device="cuda").uniform_(-1, 1)
        return numbers.to(getattr(torch, dtype))

    return [
        {v.name: array(graph.shape(v.name), v.dtype) for v in graph.inputs} for _ in range(count)
    ]


def cast(x: Any, dtype: Any) -> Any:
    return x.to(dtype)


def wide(x: Any, dtype: Any) -> Any:
    """Convert, but leave all floating-point numbers in double precision."""
    torch: Any = import_module("torch")
    return x.to(torch.float64 if dtype.is_floating_point else dtype)


def prepare(graph: Graph, tell: Callable[[str], None]) -> Mapping[str, Any]:
    """Make and compile everything, and check it against double precision."""
    torch: Any = import_module("torch")
    (arrays,) = random_inputs(graph, 1)
    plain = function(graph)
    doubled = {n: a.double() if a.is_floating_point() else a for n, a in arrays.items()}
    wanted = plain(torch, wide, **doubled)
    compiled = torch.compile(plain, dynamic=False)
    # PyTorch lays results out as it finds best: polygen is to write the same.
    strides = {
        v.name: tuple(result.reshape(graph.shape(v.name)).stride())
        for v, result in zip(graph.outputs, plain(torch, cast, **arrays), strict=True)
    }
    start = time.perf_counter()
    with_polygen = _prepared_polygen(graph, strides, tell)
    taken = time.perf_counter() - start
    able: dict[str, Any] = {}
    if with_polygen is not None:
        able["polygen"] = with_polygen
    able["eager"] = lambda sets: _torch_calls(plain, sets)
    able["compiled"] = lambda sets: _torch_calls(compiled, sets)
    errors = {name: _errors(graph, bind([arrays])[0](), wanted) for name, bind in able.items()}
    for name, found in errors.items():
        most = [max(1.0, 4 * error) for error in errors["eager"]]
        if name == "polygen" and any(not e <= m for e, m in zip(found, most, strict=True)):
            tell(f"{name} is WRONG: {found} of what is permitted, eager {errors['eager']}")
    tell(f"polygen made in {taken:.2f} s")
    del arrays, doubled, wanted
    torch.cuda.empty_cache()
    return able


def _prepared_polygen(
    graph: Graph, strides: Mapping[str, tuple[int, ...]], tell: Callable[[str], None]
) -> Any:
    try:
        limits = pg.Limits.of_device()
        fast = pg.optimize_reductions(kernel(graph, strides), limits)
        run = fast.executor("cuda")
    except pg.UserError as error:
        tell(f"polygen: {type(error).__name__}: {error}".splitlines()[0])
        return None
    return lambda sets: _polygen_calls(graph, strides, run, sets)


def _polygen_calls(
    graph: Graph,
    strides: Mapping[str, tuple[int, ...]],
    run: Any,
    sets: Sequence[dict[str, Any]],
) -> list[Any]:
    torch: Any = import_module("torch")

    def call(arrays: dict[str, Any]) -> Callable[[], Any]:
        out = {
            v.name: torch.empty_strided(
                graph.shape(v.name), strides[v.name], dtype=getattr(torch, v.dtype), device="cuda"
            )
            for v in graph.outputs
        }

        def once() -> Any:
            run(**arrays, **out)
            return tuple(out.values())

        return once

    return [call(arrays) for arrays in sets]


def _torch_calls(run: Any, sets: Sequence[dict[str, Any]]) -> list[Any]:
    torch: Any = import_module("torch")
    return [lambda a=arrays: run(torch, cast, **a) for arrays in sets]


def _errors(graph: Graph, found: Sequence[Any], wanted: Sequence[Any]) -> list[float]:
    """Return, for each output, the largest error in terms of what is permitted."""
    has_halves = any(v.dtype == "float16" for v in graph.values)
    errors: list[float] = []
    for ours, right in zip(found, wanted, strict=True):
        difference = (ours.double().reshape(-1) - right.double().reshape(-1)).abs().max()
        if not right.is_floating_point():
            errors.append(float(difference))
            continue
        scale = right.abs().max() + 1e-3
        errors.append(float(difference / (TOLERANCE[has_halves] * scale)))
    return errors


def measure(graph: Graph, able: Mapping[str, Any]) -> dict[str, float]:
    """Return the seconds that a call takes on the device, by library."""
    torch: Any = import_module("torch")
    timing: Any = import_module("benchmarks.on_gpu.timing")
    timing.ROUNDS = 5
    count = max(2, min(MOST_SETS, BEYOND_CACHE // graph.moved))
    sets = random_inputs(graph, count)
    stream = timing.Stream()
    found = {}
    for name, bind in able.items():
        found[name] = timing.device_time(bind(sets), stream)
        torch.cuda.empty_cache()
    return found
