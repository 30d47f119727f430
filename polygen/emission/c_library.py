"""The file beside a C kernel that checks its arguments, provides memory, and runs it."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.emission.header import FAILURES, definitions, first_failure
from polygen.emission.host_kernel import HostKernel
from polygen.emission.templates import filled, table


def c_library(kernel: HostKernel) -> str:
    """Return the text of ``NAME_run.c``."""
    values = table(kernel)
    alignments = [array.alignment or 64 for array in kernel.temporaries]
    for row, alignment in zip(values["temporary"], alignments, strict=True):
        row |= {"alignment": alignment, "rest": alignment - 1}
    values |= {
        "definitions": definitions(kernel, ""),
        "types": ", ".join(row["bare"] for row in values["passed"]) or "void",
        "parameters": ",\n    ".join(row["declared"] for row in values["argument"]) or "void",
        "run": _run(
            [row["a"] for row in values["passed"]],
            [t.name for t in kernel.temporaries],
            _library_status(kernel),
        ),
        "library": _declared(kernel),
    }
    return filled("run.c", values)


def _declared(kernel: HostKernel) -> list[str]:
    """Return the declaration of what says whether calls of libraries failed."""
    if not kernel.program.loop_program.libraries:
        return []
    return [f"void {kernel.name}_library_status(int *status);"]


def _library_status(kernel: HostKernel) -> list[str]:
    """Return lines, behind the kernel, that find the number of what failed in a library."""
    if not kernel.program.loop_program.libraries:
        return []
    first, count = first_failure(kernel), len(FAILURES)
    return [
        "    int pg_failed[3];",
        f"    {kernel.name}_library_status(pg_failed);",
        "    if (pg_failed[0])",
        f"        pg_status = {first} + (pg_failed[0] - 1)*{count} + pg_failed[1] - 1;",
    ]


def _run(passed: Sequence[str], temporaries: Sequence[str], status: list[str]) -> list[str]:
    call = f"pg_kernel({', '.join(passed)});"
    if not temporaries:
        return [f"    {call}", *status, "    return pg_status;" if status else "    return 0;"]
    return [
        f"    if ({' && '.join(f'pg_memory_{name}' for name in temporaries)})",
        f"        {call}",
        "    else",
        "        pg_status = -1;",
        *status,
        *(f"    free(pg_memory_{name});" for name in temporaries),
        "    return pg_status;",
    ]
