"""The C header of a kernel: checks of sizes, where arrays lie, and the launches in order.

With a grid, its functions are inline, so that the header is all there is; for C, which has a file
for them, they are declared, so that Fortran can call them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from polygen.emission.c_text import in_c, quoted
from polygen.emission.host_kernel import HostArray, HostKernel
from polygen.emission.templates import filled, filled_lines, table
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import integer_limits
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression
from polygen.lower.program import ENDLESS, HostLoop, HostNode, Launch
from polygen.targets.programs.program import DeviceFunction

_MOST = 2**60  # what sizes of 64 bits have to be less than, so that sums of them do not overflow


def header(kernel: HostKernel) -> str:
    """Return the text of ``NAME.h``."""
    values = table(kernel)
    if kernel.program.target.runs_host:
        own = [row["declared"] for row in values["argument"]]
        values["parameters"] = _broken(own)
        values["runs"] = ["   Returns 0, or the number of what is wrong; then, nothing has run. */"]
        if kernel.program.loop_program.libraries:
            values["runs"] = [
                "   Returns 0, or the number of what is wrong; then, nothing has run, unless a",
                "   call of a library failed. */",
            ]
        values["all_parameters"] = _broken([row["declared"] for row in values["passed"]])
        functions = filled_lines("declarations.h", values)
    else:
        functions = [*definitions(kernel, "static inline "), *_geometry(kernel)]
    values |= {"target": kernel.target, "about": _about(kernel), "functions": functions}
    return filled("kernel.h", values)


def _about(kernel: HostKernel) -> Iterator[str]:
    for arg in (*kernel.arguments, *kernel.temporaries):
        if not isinstance(arg, HostArray):
            yield f"     {arg.name}: {arg.dtype.name}{', a size' if arg.is_size else ''}"
            continue
        where = f"shape {show_tuple(arg.shape)}, strides {show_tuple(arg.strides)}"
        offset = "" if arg.offset == 0 else f", offset {show_expression(arg.offset)}"
        yield f"     {arg.name}: {arg.dtype.name}, {arg.direction}, {where}{offset}"


def _broken(parts: Sequence[str]) -> str:
    one = ", ".join(parts) or "void"
    return one if len(one) < 70 else "\n    " + ",\n    ".join(parts)


# --- checks and layouts


def definitions(kernel: HostKernel, storage: str) -> list[str]:
    """Return the functions that check sizes and tell where arrays lie.

    Parameters:
        kernel: the kernel.
        storage: what a function begins with.
    """
    values: dict[str, Any] = {**table(kernel), "storage": storage}
    arrays = (*kernel.arrays, *kernel.temporaries)
    layouts = [
        line
        for array, row in zip(arrays, values["memory"], strict=True)
        for line in filled_lines("layout.h", {**values, **row, **_layout(kernel, array)})
    ]
    limits = [
        {"wrong": wrong, "message": quoted(text), "number": number}
        for number, (wrong, text) in enumerate(_range_texts(kernel), 1)
    ]
    conditions = [
        {"right": right, "message": quoted(text), "number": number}
        for number, (right, text) in enumerate(_checks(kernel), len(limits) + 1)
    ]
    failures = [{"message": quoted(text)} for text in library_failures(kernel)]
    values |= {"limit": limits, "condition": conditions, "failure": failures}
    return [*layouts, *filled_lines("check.h", values)]


def first_failure(kernel: HostKernel) -> int:
    """Return the number of the first thing that may be wrong with a call of a library."""
    return len([*_range_texts(kernel), *_checks(kernel)]) + 1


def library_failures(kernel: HostKernel) -> list[str]:
    """Return what may be wrong with calls of libraries: as much for each of their functions."""
    functions = kernel.program.loop_program.libraries
    return [f"{function.routine}: {why}" for function in functions for why in FAILURES]


FAILURES = (
    "an array lies in memory as no library takes it",
    "an array has too many elements along an axis",
    "the matrix is singular",
    "the matrix is not positive definite",
    "there is no memory",
)


def _layout(kernel: HostKernel, array: HostArray) -> dict[str, Any]:
    expressions = (*array.shape, *array.strides, array.offset, array.storage)
    places: list[str] = []
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        places.append(f"    pg_found.shape[{axis}] = {in_c(extent)};")
        places.append(f"    pg_found.strides[{axis}] = {in_c(stride)};")
    if array.offset != 0:
        places.append(f"    pg_found.offset = {in_c(array.offset)};")
    names = frozenset[str]().union(*map(walk.free_variables, expressions))
    return {
        "unused": _unused([size.name for size in kernel.sizes], names),
        "axes": len(array.shape),
        "places": places,
        "unit": array.unit,
        "held": in_c(array.storage),
    }


def _unused(names: Iterable[str], used: Container[str]) -> list[str]:
    """Return lines for the parameters that a function does not need."""
    return [f"    (void) {name};" for name in names if name not in used]


def _range_texts(kernel: HostKernel) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with each size that is past its limits, and that in words."""
    for size in kernel.sizes:
        low, high = integer_limits(size.dtype)
        most = min(high, (kernel.largest or _MOST) - 1)
        least = max(low, -most)
        why = "" if kernel.largest is None else ", for indices have 32 bits"
        yield (
            f"{size.name} < {in_c(least)} || {size.name} > {in_c(most)}",
            f"{size.name} has to be from {least} to {most}{why}",
        )


def _checks(kernel: HostKernel) -> Iterator[tuple[str, str]]:
    """Yield what has to hold, once sizes are in their limits, and what is wrong if it does not."""
    if kernel.assumed is not True:
        text = f"the kernel assumes {kernel.kernel.assumptions.text}"
        yield in_c(kernel.assumed), text
    for array in (*kernel.arrays, *kernel.temporaries):
        yield from _array_checks(kernel, array)


def _array_checks(kernel: HostKernel, array: HostArray) -> Iterator[tuple[str, str]]:
    layout, shape = f"pg_of_{array.name}", show_tuple(array.shape)
    extents = [e for e in array.shape if not (isinstance(e, int) and e >= 0)]
    if extents:
        fine = " && ".join(f"{in_c(extent)} >= 0" for extent in extents)
        plain = all(isinstance(extent, ex.Variable) for extent in extents)
        if kernel.idle is not False and not plain:
            names = sorted(frozenset[str]().union(*map(walk.free_variables, extents)))
            positive = " && ".join(f"{name} >= 0" for name in names)
            fine = f"({fine}) || ({positive} && {in_c(kernel.idle)})"
        yield fine, f"an extent of '{array.name}', {shape}, is negative"
    most = "" if kernel.places is None else f" && {layout}.elements <= {kernel.places}"
    yield f"{layout}.elements >= 0{most}", _too_large(kernel, array)
    if array.writes and not array.temporary:
        strides = show_tuple(array.strides)
        yield (
            f"pg_is_distinct(&{layout})",
            f"the strides of '{array.name}', {strides}, do not keep its elements apart",
        )


def _too_large(kernel: HostKernel, array: HostArray) -> str:
    text = f"'{array.name}' is too large"
    if kernel.places is None:
        return text
    return f"{text} for indices of 32 bits: declare a size as int64 for wider ones"


# --- launches


def _geometry(kernel: HostKernel) -> list[str]:
    """Return the grids of the launches, and a function that goes through these."""
    launches, nodes = kernel.launches, kernel.program.loop_program.host
    numbers = {function.name: n for n, (function, _) in enumerate(launches)}
    sizes = [size.name for size in kernel.sizes]
    given = [*(f"int64_t {name}" for name in sizes), f"{kernel.name}_start *pg_start"]
    if kernel.flags:
        given.append(f"{kernel.name}_ask *pg_ask")
    values = {
        **table(kernel),
        "count": len(launches),
        "launch": [{"function": name} for name in numbers],
        "grids": [line for launch in launches for line in _grid(kernel, *launch)],
        "flags": _flags(kernel),
        "about_flags": f"\n   {_ABOUT_FLAGS}" if kernel.flags else "",
        "parameters": ", ".join([*given, "void *pg_context"]),
        "depth": max((len(loops) for _, loops in launches), default=0) + 1,
        "unused": _unused(sizes, _names_of_host(nodes, kernel)),
        "nodes": _nodes(kernel, nodes, numbers, ()),
    }
    return filled_lines("launches.h", values)


_ABOUT_FLAGS = "Calls `ask` before iterations of loops that end where a flag is 0."


def _flags(kernel: HostKernel) -> list[str]:
    """Return what says which flags loops on the host ask, and how."""
    if not kernel.flags:
        return []
    values = {**table(kernel), "flag_count": len(kernel.flags)}
    return filled_lines("flags.h", values)


def _launch_parameters(kernel: HostKernel, loops: Sequence[HostLoop]) -> list[str]:
    """Return the names of what the grid of a launch is a function of."""
    return [*(size.name for size in kernel.sizes), *(loop.iname for loop in loops)]


def _grid(kernel: HostKernel, function: DeviceFunction, loops: Sequence[HostLoop]) -> list[str]:
    names = _launch_parameters(kernel, loops)
    counts, items = function.group_counts or (1,), function.local_size or (1,)
    used = frozenset[str]().union(*map(walk.free_variables, counts))
    values = {
        "function": function.name,
        "where": "".join(f", in the iteration {loop.iname} on the host" for loop in loops),
        "parameters": ", ".join(f"int64_t {name}" for name in names) or "void",
        "unused": _unused(names, used),
        "axis": [
            {"axis": axis, "groups": in_c(groups), "items": size}
            for axis, (groups, size) in enumerate(zip(counts, items, strict=True))
        ],
        "shared": function.shared_bytes,
    }
    return filled_lines("grid.h", values)


def _names_of_host(nodes: Sequence[HostNode], kernel: HostKernel) -> frozenset[str]:
    """Return the sizes that the loops on the host, or launches, mention."""
    if any(isinstance(node, Launch) for node in nodes):
        return frozenset(size.name for size in kernel.sizes)
    found = frozenset[str]()
    for node in nodes:
        assert isinstance(node, HostLoop)
        found |= walk.free_variables(node.lower) | walk.free_variables(node.upper)
        found |= _names_of_host(node.body, kernel)
    return found


def _nodes(
    kernel: HostKernel,
    nodes: Sequence[HostNode],
    numbers: dict[str, int],
    loops: tuple[HostLoop, ...],
) -> Iterator[str]:
    indent = "    " * (len(loops) + 1)
    for node in nodes:
        if isinstance(node, HostLoop):
            yield f"{indent}for ({_head(kernel, node)}) {{"
            yield from _asking(kernel, node, f"{indent}    ")
            yield f"{indent}    pg_loops[{len(loops)}] = {node.iname};"
            yield from _nodes(kernel, node.body, numbers, (*loops, node))
            yield f"{indent}}}"
            continue
        values = {
            "indent": indent,
            "function": node.name,
            "given": ", ".join(_launch_parameters(kernel, loops)),
            "number": numbers[node.name],
        }
        yield from filled_lines("launch.h", values)


def _head(kernel: HostKernel, loop: HostLoop) -> str:
    """Return the head of a loop on the host, which may count the iterations."""
    counter = loop.iname
    first, next_ = f"{counter} = {in_c(loop.lower)}", f"{counter} += {loop.step}"
    if loop.runs is not None and _check_every(kernel) > 1:
        first, next_ = f"pg_turn_{counter} = 0, {first}", f"{next_}, ++pg_turn_{counter}"
    goes_on = "" if loop.upper == ENDLESS else f" {counter} < {in_c(loop.upper)}"
    return f"int64_t {first};{goes_on}; {next_}"


def _asking(kernel: HostKernel, loop: HostLoop, indent: str) -> Iterator[str]:
    """Yield what ends a loop on the host where one of its flags is 0."""
    if loop.runs is None:
        return
    asked, every = walk.free_variables(loop.runs), _check_every(kernel)
    flags = [number for number, flag in enumerate(kernel.flags) if flag.name in asked]
    yield f"{indent}int pg_runs = 1;"
    inner = indent
    if every > 1:
        yield f"{indent}if (pg_turn_{loop.iname} % {every} == 0) {{"
        inner += "    "
    for place, number in enumerate(flags):
        call = f"pg_ask(pg_context, {number}, &pg_runs)"
        yield f"{inner}pg_status = {f'pg_runs ? {call} : 0' if place else call};"
        yield f"{inner}if (pg_status)"
        yield f"{inner}    return pg_status;"
    if every > 1:
        yield f"{indent}}}"
    yield f"{indent}if (!pg_runs)"
    yield f"{indent}    break;"


def _check_every(kernel: HostKernel) -> int:
    return kernel.program.loop_program.options.check_every
