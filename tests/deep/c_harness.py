"""A C program that calls generated kernels with data of their own, for the compilers' sanitizers.

    ./program DATA           runs all cases
    ./program DATA NAME      runs one

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
from polygen.targets.programs.program import Program
from tests.deep.case_table import Case
from tests.oracle.compare import make_arguments, typed
from tests.oracle.evaluate import integer
from tests.oracle.interpreter import interpret

Array: TypeAlias = "np.ndarray[Any, Any]"

_HEAD = """\
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>

static FILE *pgt_data;

static void *pgt_new(long at, size_t size)
{
    void *p = malloc(size);
    if (at >= 0 && (fseek(pgt_data, at, SEEK_SET) || fread(p, 1, size, pgt_data) != size))
        exit(4);
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


@dataclass(frozen=True)
class Harness:
    """The program, and the contents of the file that it reads its data from."""

    source: str
    data: bytes


def harness(cases: Iterable[Case], mistakes: Sequence[Mistake] = ()) -> Harness:
    """Return the program for some cases."""
    data = bytearray()
    functions = [(case.name, _function(case.name, case, None, data)) for case in cases]
    functions += [(m.name, _function(m.name, m.case, m, data)) for m in mistakes]
    calls = [
        f'    if (argc < 3 || strcmp(argv[2], "{name}") == 0) {{ run_{name}(); puts("{name}"); }}'
        for name, _ in functions
    ]
    opened = '    if (argc < 2 || !(pgt_data = fopen(argv[1], "rb"))) exit(4);'
    main = ["int main(int argc, char **argv)", "{", opened, *calls, "    return 0;", "}", ""]
    return Harness("\n".join([_HEAD, *(text for _, text in functions), *main]), bytes(data))


def _function(name: str, case: Case, mistake: Mistake | None, data: bytearray) -> str:
    """Return the generated code of a case, and a function `run_name` that calls it."""
    arguments = make_arguments(case.kernel, case.sizes, 0, **case.given)
    kernel = typed(case.kernel, arguments).copy(name=name)
    kernel = pg.set_options(kernel, serial_below=0)  # on threads, however small
    program = pg.generate_code(kernel, "c")
    source = program.source
    if mistake is not None:
        assert mistake.old in source, source
        source = source.replace(mistake.old, mistake.new)
    lines = [_own_helpers(name, source), f"static void run_{name}(void)", "{"]
    arrays = [a.name for a in kernel.arguments if isinstance(a, GlobalArg)]
    lines += [_array(f"p_{array}", arguments[array], data) for array in arrays]
    for temporary in program.loop_program.global_temporaries:
        count = int(np.prod([integer(e, {}) for e in temporary.shape], dtype=int))
        assert temporary.dtype is not None
        size = count * temporary.dtype.itemsize
        lines.append(f"    void *p_{temporary.name} = pgt_new(-1, {size});")
    lines.append(f"    {name}({', '.join(_passed(program, arguments))});")
    # A branch on each byte: MemorySanitizer says nothing of values that are only copied.
    lines += [f"    pgt_look(p_{array}, {arguments[array].nbytes});" for array in arrays]
    if mistake is None:
        wanted = interpret(kernel, arguments).arrays
        for array in arrays:
            lines += _compared(f"{name}: {array}", array, wanted[array], data)
    lines += [f"    free(p_{a.name});" for a in program.arguments if isinstance(a, GlobalArg)]
    return "\n".join([*lines, "}", ""])


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


def _array(variable: str, array: Array, data: bytearray) -> str:
    """Return the declaration of an array, the values of which go to the data."""
    ctype, at = _TYPES[array.dtype.name], len(data)
    data += array.tobytes()
    return f"    {ctype} *{variable} = pgt_new({at}, {array.nbytes});"


def _compared(what: str, name: str, wanted: Array, data: bytearray) -> list[str]:
    same = f"p_{name}[k] == w_{name}[k]"
    if wanted.dtype.kind == "f":
        same += f" || (isnan(p_{name}[k]) && isnan(w_{name}[k]))"
    return [
        _array(f"w_{name}", wanted, data),
        f"    for (long k = 0; k < {wanted.size}; ++k)",
        f'        if (!({same})) pgt_differs("{what}", k);',
        f"    free(w_{name});",
    ]
