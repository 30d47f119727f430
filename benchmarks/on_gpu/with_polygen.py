"""polygen: a kernel for a case, which `optimize_reductions` makes fast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import polygen as pg
from benchmarks.on_gpu.cases import OF_ROWS, Case, Result


def kernel(case: Case) -> pg.Kernel:
    """Return what a user writes: an instruction for each result, over loops of its axes."""
    if case.results[0].operation in OF_ROWS:
        return of_rows(case)
    domains: dict[tuple[int, ...], str] = {}
    lines: list[str] = []
    for number, result in enumerate(case.results):
        letter = domains.setdefault(result.shape, "ijkl"[len(domains)])
        lines.append(instruction(number, result, letter))
    shapes = [loops(letter, shape) for shape, letter in domains.items()]
    arrays = [pg.GlobalArg(n, t, case.shape_of(n), alignment=16) for n, t in case.inputs.items()]
    outputs = [
        pg.GlobalArg(name, types_of(case, result)[place], result.kept)
        for number, result in enumerate(case.results)
        for place, name in enumerate(names_of(number, result))
    ]
    text = "\n".join(lines)
    return pg.make_kernel(shapes, text, [*arrays, *outputs], name="reduction")


ROWS = {
    "softmax": """
        power(at) := exp(cast(float32, a[i,at]) - most)
        <> most = max(j, cast(float32, a[i,j]))
        <> total = sum(k, power(k))
        <> scale = 1/total
        s0[i,l] = cast({dtype}, power(l)*scale)
        """,
    "layer_norm": """
        e(at) := cast(float32, a[i,at])
        <> mean = sum(j, e(j))/{length}
        <> variance = sum(k, (e(k) - mean)**2)/{length}
        <> scale = rsqrt(variance + 1e-5f)
        s0[i,l] = cast({dtype}, (e(l) - mean)*scale)
        """,
}


def of_rows(case: Case) -> pg.Kernel:
    """Return what goes along rows several times."""
    (result,) = case.results
    (dtype,) = case.inputs.values()
    count, length = result.shape
    return pg.make_kernel(
        f"{{ [i,j,k,l]: 0<=i<{count} and 0<=j,k,l<{length} }}",
        ROWS[result.operation].format(dtype=dtype, length=length),
        [*(pg.GlobalArg(name, dtype, result.shape, alignment=16) for name in ("a", "s0")), "..."],
        name=result.operation,
    )


def loops(letter: str, shape: tuple[int, ...]) -> str:
    inames = [f"{letter}{axis}" for axis in range(len(shape))]
    bounds = [f"0<={iname}<{n}" for iname, n in zip(inames, shape, strict=True)]
    return f"{{ [{', '.join(inames)}]: {' and '.join(bounds)} }}"


def names_of(number: int, result: Result) -> list[str]:
    return [f"s{number}", f"at{number}"][: 2 if result.operation.startswith("arg") else 1]


def types_of(case: Case, result: Result) -> list[str]:
    """Return the types of what a result is written to; PyTorch's where it has one."""
    found = next(t for n, t in case.inputs.items() if f"{{{n}}}" in result.element)
    for name in ("float16", "float32"):
        if result.element.startswith(name):
            found = name
    if result.operation in ("any", "all"):
        return ["bool"]
    if result.operation in ("sum", "product") and ("int" in found or found == "bool"):
        return ["uint64" if found.startswith("u") else "int64"]
    return [found, "int64"]


def instruction(number: int, result: Result, letter: str) -> str:
    everywhere = [f"{letter}{axis}" for axis in range(len(result.shape))]
    kept = [name for axis, name in enumerate(everywhere) if axis not in result.axes]
    over = [everywhere[axis] for axis in result.axes]
    names = {name: f"{name}[{', '.join(everywhere)}]" for name in "abc"}
    element = result.element.format(**names)
    place = ", ".join(kept) or "0"
    operation = result.operation
    left = ", ".join(f"{name}[{place}]" for name in names_of(number, result))
    if operation.startswith("arg"):
        return f"{left} = {operation}({over[0]}, {element}, {over[0]})"
    return f"{left} = {operation}(({', '.join(over)}), {element})"


_OPTIMIZED: dict[tuple[str, str], Any] = {}


def optimized(case: Case, changed: str = "") -> Any:
    """Return what runs a case's kernel, optimised for the device.

    Parameters:
        case: the case.
        changed: steps that get other arguments, and these: ``share_rows threads=256 lanes=1``.
    """
    if (case.key, changed) not in _OPTIMIZED:
        knl = pg.optimize_reductions(kernel(case), pg.Limits.of_device())
        knl = with_arguments(knl, changed) if changed else knl
        _OPTIMIZED[case.key, changed] = knl.executor("cuda")
    return _OPTIMIZED[case.key, changed]


def with_arguments(knl: pg.Kernel, changed: str) -> pg.Kernel:
    """Return a kernel whose steps have other arguments; of steps it lacks, they are the last ones.

    Parameters:
        knl: the kernel.
        changed: names of steps, each with arguments, with semicolons between.
    """
    new = {
        name: {key: value(text) for key, text in (pair.split("=") for pair in pairs)}
        for name, *pairs in map(str.split, changed.split(";"))
    }
    if knl.original is None:
        raise ValueError("there is no step that could have other arguments")
    history: list[Any] = []
    for step in knl.history:
        arguments = {**dict(step.arguments), **new.get(step.name, {})}
        history.append(replace(step, arguments=tuple(arguments.items())))
    knl = pg.replay(knl.original, history)
    for name in new.keys() - {step.name for step in history}:
        knl = getattr(pg, name)(knl, **new[name])
    return knl


def value(text: str) -> object:
    """Return an argument: a number, None, a truth value, or names between plus signs."""
    if text in (constants := {"None": None, "True": True, "False": False}):
        return constants[text]
    return int(text) if text.isdigit() else tuple(filter(None, text.split("+")))


def varied(changed: str) -> SimpleNamespace:
    """Return what binds calls of kernels with other arguments of a step."""
    return SimpleNamespace(bind=partial(bind, changed=changed))


def bind(case: Case, arrays: dict[str, Any], changed: str = "") -> Callable[[], Any] | None:
    """Return a call."""
    torch: Any = import_module("torch")  # what only generates code does without
    run = optimized(case, changed)
    out = {
        name: torch.empty(result.kept, dtype=getattr(torch, dtype), device="cuda")
        for number, result in enumerate(case.results)
        for name, dtype in zip(names_of(number, result), types_of(case, result), strict=False)
    }

    found = [out[names_of(number, result)[-1]] for number, result in enumerate(case.results)]

    def call() -> Any:
        run(**arrays, **out)
        return found

    return call
