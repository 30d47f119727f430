"""The C header of a kernel: checks of sizes, where arrays lie, and the launches in order.

With a grid, its functions are inline, so that the header is all there is; for C, which has a file
for them, they are declared, so that Fortran can call them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from polygen.emission.c_text import element_type, in_c, number_type, quoted
from polygen.emission.host_kernel import HostArray, HostKernel
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression
from polygen.lower.program import HostLoop, HostNode, Launch
from polygen.targets.programs.program import DeviceFunction

_MOST = 2**60  # what sizes of 64 bits have to be less than, so that sums of them do not overflow


def header(kernel: HostKernel) -> str:
    """Return the text of ``NAME.h``."""
    name = kernel.name
    guard = f"{name.upper()}_H"
    lines = [
        f"/* Kernel '{name}', as polygen generated it for target '{kernel.target}'. */",
        f"#ifndef POLYGEN_{guard}",
        f"#define POLYGEN_{guard}",
        "",
        '#include "polygen_geometry.h"',
        "",
        *_about(kernel),
    ]
    if kernel.program.target.runs_host:
        lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", *declarations(kernel)]
        lines += ["#ifdef __cplusplus", "}", "#endif"]
    else:
        lines += [*definitions(kernel, "static inline "), *_geometry(kernel)]
    return "\n".join([*lines, "", "#endif", ""])


def size_parameters(kernel: HostKernel) -> str:
    """Return the parameters of the functions that take the sizes."""
    return ", ".join(f"int64_t {size.name}" for size in kernel.sizes) or "void"


def parameters(kernel: HostKernel) -> list[str]:
    """Return the parameters of a function that takes what the kernel takes."""
    found: list[str] = []
    for arg in kernel.arguments:
        if isinstance(arg, HostArray):
            found.append(array_parameter(arg))
        else:
            found.append(f"{number_type(arg.dtype)} {arg.name}")
    return found


def array_parameter(array: HostArray) -> str:
    """Return how C for a host declares an array that it passes."""
    return f"{element_type(array.dtype)} {'' if array.writes else 'const '}*{array.name}"


def _about(kernel: HostKernel) -> Iterator[str]:
    yield "/* Arguments, in order; shapes and strides in elements:"
    for arg in (*kernel.arguments, *kernel.temporaries):
        if not isinstance(arg, HostArray):
            yield f"     {arg.name}: {arg.dtype.name}{', a size' if arg.is_size else ''}"
            continue
        where = f"shape {show_tuple(arg.shape)}, strides {show_tuple(arg.strides)}"
        offset = "" if arg.offset == 0 else f", offset {show_expression(arg.offset)}"
        yield f"     {arg.name}: {arg.dtype.name}, {arg.direction}, {where}{offset}"
    yield "   Arrays may not overlap, unless both are only read or one is declared may_alias. */"
    yield ""


# --- for C: declarations here, and a file with the functions


def declarations(kernel: HostKernel) -> Iterator[str]:
    """Yield what a program in C or C++ calls."""
    name, sizes = kernel.name, size_parameters(kernel)
    yield "/* 0 if the kernel can run with these sizes; else the number of what is wrong, which"
    yield f"   {name}_message has in words. */"
    yield f"int {name}_check({sizes});"
    yield f"char const *{name}_message(int status);"
    yield ""
    for array in (*kernel.arrays, *kernel.temporaries):
        yield f"pg_layout {name}_layout_{array.name}({sizes});"
    yield ""
    yield "/* How many elements the memory of each array has; -1 if elements lie ahead of it. */"
    for array in (*kernel.arrays, *kernel.temporaries):
        yield f"int64_t {name}_elements_{array.name}({sizes});"
    yield ""
    yield "/* Checks the sizes, provides memory for temporaries, and runs the kernel."
    yield "   Returns 0, or the number of what is wrong; then, nothing has run. */"
    yield f"int {name}_run({_broken(parameters(kernel))});"
    yield ""
    yield f"/* The kernel itself, in {name}.c: nothing is checked, and temporaries come last. */"
    temporaries = [array_parameter(t) for t in kernel.temporaries]
    yield f"void {name}({_broken([*parameters(kernel), *temporaries])});"
    yield ""


def _broken(parts: Sequence[str]) -> str:
    one = ", ".join(parts) or "void"
    return one if len(one) < 70 else "\n    " + ",\n    ".join(parts)


# --- checks and layouts


def definitions(kernel: HostKernel, storage: str) -> Iterator[str]:
    """Yield the functions that check sizes and tell where arrays lie.

    Parameters:
        kernel: the kernel.
        storage: what a function begins with.
    """
    for array in (*kernel.arrays, *kernel.temporaries):
        yield from _layout(kernel, array, storage)
    yield from _check(kernel, storage)


def _layout(kernel: HostKernel, array: HostArray, storage: str) -> Iterator[str]:
    name, sizes = kernel.name, size_parameters(kernel)
    yield f"{storage}pg_layout {name}_layout_{array.name}({sizes})"
    yield "{"
    expressions = (*array.shape, *array.strides, array.offset, array.storage)
    yield from unused(kernel, expressions)
    yield f"    pg_layout pg_found = pg_axes({len(array.shape)});"
    for axis, (extent, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        yield f"    pg_found.shape[{axis}] = {in_c(extent)};"
        yield f"    pg_found.strides[{axis}] = {in_c(stride)};"
    if array.offset != 0:
        yield f"    pg_found.offset = {in_c(array.offset)};"
    yield f"    pg_measure(&pg_found, {array.unit}, {in_c(array.storage)});"
    yield "    return pg_found;"
    yield "}"
    yield ""
    yield f"{storage}int64_t {name}_elements_{array.name}({sizes})"
    yield "{"
    given = ", ".join(size.name for size in kernel.sizes)
    yield f"    pg_layout const pg_found = {name}_layout_{array.name}({given});"
    yield "    return pg_found.before ? -1 : pg_found.elements;"
    yield "}"
    yield ""


def unused(kernel: HostKernel, expressions: Sequence[Expression]) -> Iterator[str]:
    """Yield lines for the sizes that a function does not need."""
    names = frozenset[str]().union(*map(walk.free_variables, expressions))
    for size in kernel.sizes:
        if size.name not in names:
            yield f"    (void) {size.name};"


def _check(kernel: HostKernel, storage: str) -> Iterator[str]:
    checks = list(_checks(kernel))
    name = kernel.name
    yield "/* 0 if the kernel can run with these sizes; else the number of what is wrong. */"
    yield f"{storage}int {name}_check({size_parameters(kernel)})"
    yield "{"
    given = ", ".join(size.name for size in kernel.sizes)
    arrays = (*kernel.arrays, *kernel.temporaries)
    yield from _ranges(kernel)
    for array in arrays:
        yield f"    pg_layout const pg_of_{array.name} = {name}_layout_{array.name}({given});"
    first = len(kernel.sizes) + 1
    for number, (condition, _) in enumerate(checks, first):
        yield f"    if (!({condition}))"
        yield f"        return {number};"
    yield "    return 0;"
    yield "}"
    yield ""
    yield f"{storage}char const *{name}_message(int status)"
    yield "{"
    yield "    static char const *const messages[] = {"
    yield '        "fine",'
    for text in [*(text for _, text in _range_texts(kernel)), *(text for _, text in checks)]:
        yield f"        {quoted(text)},"
    yield "    };"
    yield "    int const count = (int) (sizeof messages / sizeof messages[0]);"
    yield '    return status >= 0 && status < count ? messages[status] : "there is no memory";'
    yield "}"
    yield ""


def _ranges(kernel: HostKernel) -> Iterator[str]:
    for number, (condition, _) in enumerate(_range_texts(kernel), 1):
        yield f"    if ({condition})"
        yield f"        return {number};"


def _range_texts(kernel: HostKernel) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with each size that is past its limits, and that in words."""
    for size in kernel.sizes:
        limits = np.iinfo(size.dtype)
        most = min(limits.max, (kernel.largest or _MOST) - 1)
        least = max(limits.min, -most)
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


def _geometry(kernel: HostKernel) -> Iterator[str]:
    name = kernel.name
    count = len(kernel.launches)
    yield "/* The functions of the source that are launched, by number. */"
    yield f"#define {name.upper()}_FUNCTIONS {count}"
    yield f"static inline char const *{name}_function(int number)"
    yield "{"
    yield "    static char const *const names[] = {"
    for function, _ in kernel.launches:
        yield f"        {quoted(function.name)},"
    yield "    };"
    yield "    return names[number];"
    yield "}"
    yield ""
    for function, loops in kernel.launches:
        yield from _grid(kernel, function, loops)
    yield from _all_launches(kernel)


def launch_parameters(kernel: HostKernel, loops: Sequence[HostLoop]) -> list[str]:
    """Return the names of what the grid of a launch is a function of."""
    return [*(size.name for size in kernel.sizes), *(loop.iname for loop in loops)]


def _grid(
    kernel: HostKernel, function: DeviceFunction, loops: tuple[HostLoop, ...]
) -> Iterator[str]:
    given = ", ".join(f"int64_t {name}" for name in launch_parameters(kernel, loops)) or "void"
    counts, items = function.group_counts or (1,), function.local_size or (1,)
    where = "".join(f", in the iteration {loop.iname} on the host" for loop in loops)
    yield f"/* The grid of {function.name}{where}. */"
    yield f"static inline pg_launch {function.name}_grid({given})"
    yield "{"
    used = frozenset[str]().union(*map(walk.free_variables, counts))
    for parameter in launch_parameters(kernel, loops):
        if parameter not in used:
            yield f"    (void) {parameter};"
    yield "    pg_launch pg_next = {{1, 1, 1}, {1, 1, 1}, 0};"
    for axis, (groups, size) in enumerate(zip(counts, items, strict=True)):
        yield f"    pg_next.groups[{axis}] = pg_max(0, {in_c(groups)});"
        yield f"    pg_next.items[{axis}] = {size};"
    yield f"    pg_next.shared_bytes = {function.shared_bytes};"
    yield "    return pg_next;"
    yield "}"
    yield ""


def _all_launches(kernel: HostKernel) -> Iterator[str]:
    name = kernel.name
    sizes = [f"int64_t {size.name}" for size in kernel.sizes]
    yield "/* Calls `start` for each launch, in order, those of nothing left out.  Each has to see"
    yield "   what those before it wrote.  `function` is its number, `loops` has the values of the"
    yield "   loops on the host around it.  Ends at the first that returns something else than 0,"
    yield "   and returns that. */"
    yield f"typedef int {name}_start("
    yield "    void *context, int function, pg_launch const *launch, int64_t const *loops);"
    given = ", ".join([*sizes, f"{name}_start *pg_start", "void *pg_context"])
    yield f"static inline int {name}_launches({given})"
    yield "{"
    depth = max((len(loops) for _, loops in kernel.launches), default=0)
    yield f"    int64_t pg_loops[{depth + 1}] = {{0}};"
    yield "    pg_launch pg_next;"
    yield "    int pg_status;"
    used = _names_of_host(kernel.program.loop_program.host, kernel)
    for size in kernel.sizes:
        if size.name not in used:
            yield f"    (void) {size.name};"
    numbers = {function.name: n for n, (function, _) in enumerate(kernel.launches)}
    yield from _nodes(kernel, kernel.program.loop_program.host, numbers, ())
    yield "    return 0;"
    yield "}"


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
            lower, upper, counter = in_c(node.lower), in_c(node.upper), node.iname
            head = f"int64_t {counter} = {lower}; {counter} < {upper}; {counter} += {node.step}"
            yield f"{indent}for ({head}) {{"
            yield f"{indent}    pg_loops[{len(loops)}] = {counter};"
            yield from _nodes(kernel, node.body, numbers, (*loops, node))
            yield f"{indent}}}"
            continue
        given = ", ".join(launch_parameters(kernel, loops))
        yield f"{indent}pg_next = {node.name}_grid({given});"
        yield f"{indent}if (pg_next.groups[0] && pg_next.groups[1] && pg_next.groups[2]) {{"
        passed = f"pg_context, {numbers[node.name]}, &pg_next, pg_loops"
        yield f"{indent}    pg_status = pg_start({passed});"
        yield f"{indent}    if (pg_status)"
        yield f"{indent}        return pg_status;"
        yield f"{indent}}}"
