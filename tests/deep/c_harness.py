"""A C program that calls generated kernels with data of their own, for the compilers' sanitizers.

    ./program           runs all cases
    ./program NAME      runs one

Each array is allocated by itself, with just its size, so that an access beside it is noticed.
Results are compared with what the kernels mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

import polygen as pg
from polygen.ir.array import GlobalArg
from polygen.targets.program import Program
from tests.deep.cases import Case
from tests.oracle.compare import integer, make_arguments, typed
from tests.oracle.interpreter import interpret

Array: TypeAlias = "np.ndarray[Any, Any]"

_HEAD = """\
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

static void *pgt_new(void const *data, size_t size)
{
    void *p = malloc(size);
    if (data)
        memcpy(p, data, size);
    return p;
}

static void pgt_look(void const *p, size_t size)
{
    static volatile long zeros;
    for (size_t k = 0; k < size; ++k)
        if (((unsigned char const *) p)[k] == 0)
            ++zeros;
}

static void pgt_differs(char const *what, long at)
{
    fprintf(stderr, "WRONG RESULT: %s, element %ld\\n", what, at);
    exit(3);
}
"""

_TYPES = {
    "bool": "bool",
    "float32": "float",
    "float64": "double",
    **{f"{u}int{n}": f"{u}int{n}_t" for u in ("", "u") for n in (8, 16, 32, 64)},
}


@dataclass(frozen=True)
class Mistake:
    """A case whose generated source was changed; its results are not compared."""

    name: str
    case: Case
    old: str
    new: str


def harness(cases: Iterable[Case], mistakes: Sequence[Mistake] = ()) -> str:
    """Return the program."""
    functions = [_function(case.name, case, None) for case in cases]
    functions += [_function(m.name, m.case, m) for m in mistakes]
    names = [case_name for case_name, _ in functions]
    calls = [
        f'    if (argc < 2 || strcmp(argv[1], "{name}") == 0) {{ run_{name}(); puts("{name}"); }}'
        for name in names
    ]
    main = "\n".join(["int main(int argc, char **argv)", "{", *calls, "    return 0;", "}", ""])
    return "\n".join([_HEAD, *(text for _, text in functions), main])


def _function(name: str, case: Case, mistake: Mistake | None) -> tuple[str, str]:
    """Return the generated code of a case, and a function `run_name` that calls it."""
    arguments = make_arguments(case.kernel, case.sizes, 0, **case.given)
    kernel = typed(case.kernel, arguments).copy(name=name)
    program = pg.generate_code(kernel, "c")
    source = program.source
    if mistake is not None:
        assert mistake.old in source, source
        source = source.replace(mistake.old, mistake.new)
    wanted = {} if mistake is not None else interpret(kernel, arguments).arrays
    lines = [_own_helpers(name, source), f"static void run_{name}(void)", "{"]
    for arg in kernel.arguments:
        if isinstance(arg, GlobalArg):
            lines += _array(arg.name, arguments[arg.name])
    for temporary in program.loop_program.global_temporaries:
        count = int(np.prod([integer(e, {}) for e in temporary.shape], dtype=int))
        assert temporary.dtype is not None
        lines.append(
            f"    void *p_{temporary.name} = pgt_new(0, {count * temporary.dtype.itemsize});"
        )
    lines.append(f"    {name}({', '.join(_passed(program, arguments))});")
    # A branch on each byte: MemorySanitizer says nothing of values that are only copied.
    arrays = [a for a in kernel.arguments if isinstance(a, GlobalArg)]
    lines += [f"    pgt_look(p_{a.name}, {arguments[a.name].nbytes});" for a in arrays]
    written = {insn.written for insn in kernel.instructions}
    for arg in kernel.arguments:
        if arg.name in wanted and arg.name in written:
            lines += _compared(f"{name}: {arg.name}", arg.name, wanted[arg.name])
    lines += [f"    free(p_{a.name});" for a in program.arguments if isinstance(a, GlobalArg)]
    return name, "\n".join([*lines, "}", ""])


def _own_helpers(name: str, source: str) -> str:
    """Give the helper functions of a source names that no other source has."""
    return re.sub(r"\bpg_(\w+)\b", rf"pg_{name}_\1", source)


def _passed(program: Program, arguments: dict[str, Any]) -> list[str]:
    return [
        f"p_{a.name}" if isinstance(a, GlobalArg) else _literal(arguments[a.name])
        for a in program.arguments
    ]


def _literal(value: Any) -> str:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float):
        if np.isfinite(number):
            return number.hex()
        return "NAN" if np.isnan(number) else ("INFINITY" if number > 0 else "-INFINITY")
    return str(int(number))


def _data(name: str, array: Array) -> str:
    values = ", ".join(_literal(v) for v in array.ravel()) or "0"
    return f"static {_TYPES[array.dtype.name]} const {name}[] = {{{values}}};"


def _array(name: str, array: Array) -> list[str]:
    return [
        f"    {_data(f'd_{name}', array)}",
        f"    {_TYPES[array.dtype.name]} *p_{name} = pgt_new(d_{name}, {array.nbytes});",
    ]


def _compared(what: str, name: str, wanted: Array) -> list[str]:
    same = f"p_{name}[k] == w_{name}[k]"
    if wanted.dtype.kind == "f":
        same += f" || (isnan(p_{name}[k]) && isnan(w_{name}[k]))"
    return [
        f"    {_data(f'w_{name}', wanted)}",
        f"    for (long k = 0; k < {wanted.size}; ++k)",
        f'        if (!({same})) pgt_differs("{what}", k);',
    ]
