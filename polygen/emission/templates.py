"""Fills in the files of `texts` that are templates, from a table of a kernel's arguments.

``@name@`` stands for a text.  A line that consists of it alone may stand for several lines, or for
none.  Lines that begin with ``@each KIND@`` are there once for each row of that kind, which has
values of its own; neighbouring lines of a kind are repeated together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Any, TypeAlias

from polygen.emission.c_text import element_type, number_type
from polygen.emission.host_kernel import HostArray, HostKernel, HostScalar

Values: TypeAlias = Mapping[str, Any]
"""Texts, lists of lines, and lists of rows, by name."""

_NAME = re.compile(r"@(\w+)@")
_EACH = re.compile(r"@each (\w+)@")


@cache
def shared_text(name: str) -> str:
    """Return the text of a file of `texts`."""
    return files("polygen.emission.texts").joinpath(name).read_text(encoding="utf-8")


def filled(name: str, values: Values) -> str:
    """Return a template with values in it."""
    return "\n".join([*filled_lines(name, values), ""])


def filled_lines(name: str, values: Values) -> list[str]:
    """Return the lines of a template with values in it."""
    return [*_filled(shared_text(name).splitlines(), values)]


def _filled(lines: Sequence[str], values: Values) -> Iterator[str]:
    for kind, group in groupby(lines, _kind):
        if not kind:
            for line in group:
                yield from _line(line, values)
            continue
        repeated = [_EACH.sub("", line) for line in group]
        for row in values[kind]:
            yield from _filled(repeated, {**values, **row})


def _kind(line: str) -> str:
    found = _EACH.match(line)
    return found[1] if found else ""


def _line(line: str, values: Values) -> Sequence[str]:
    whole = _NAME.fullmatch(line)
    if whole and not isinstance(values[whole[1]], str):
        return tuple(values[whole[1]])
    return (_NAME.sub(lambda found: str(values[found[1]]), line),)


def table(kernel: HostKernel) -> dict[str, Any]:
    """Return what all templates are filled from: names, sizes, and rows of arguments."""
    return {
        "name": kernel.name,
        "NAME": kernel.name.upper(),
        "sizes": ", ".join(size.name for size in kernel.sizes),
        "size_parameters": ", ".join(f"int64_t {s.name}" for s in kernel.sizes) or "void",
        "argument": [*map(_row, kernel.arguments)],
        "passed": [*map(_row, (*kernel.arguments, *kernel.temporaries))],
        "memory": [*map(_row, (*kernel.arrays, *kernel.temporaries))],
        "array": [*map(_row, kernel.arrays)],
        "written": [_row(array) for array in kernel.arrays if array.writes],
        "temporary": [*map(_row, kernel.temporaries)],
        "scalar": [*map(_row, kernel.scalars)],
        "flag": [{**_row(flag), "number": n} for n, flag in enumerate(kernel.flags)],
    }


def _row(arg: HostArray | HostScalar) -> dict[str, Any]:
    if isinstance(arg, HostScalar):
        kind = number_type(arg.dtype)
        return {"a": arg.name, "type": kind, "bare": kind, "declared": f"{kind} {arg.name}"}
    bare = f"{element_type(arg.dtype)} {'' if arg.writes else 'const '}*"
    kind = element_type(arg.dtype)
    return {"a": arg.name, "type": kind, "bare": bare, "declared": f"{bare}{arg.name}"}
