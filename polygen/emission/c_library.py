"""The file beside a C kernel that checks its arguments, provides memory, and runs it."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.emission.header import definitions
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
        "run": _run([row["a"] for row in values["passed"]], [t.name for t in kernel.temporaries]),
    }
    return filled("run.c", values)


def _run(passed: Sequence[str], temporaries: Sequence[str]) -> list[str]:
    call = f"pg_kernel({', '.join(passed)});"
    if not temporaries:
        return [f"    {call}", "    return 0;"]
    return [
        f"    if ({' && '.join(f'pg_memory_{name}' for name in temporaries)})",
        f"        {call}",
        "    else",
        "        pg_status = -1;",
        *(f"    free(pg_memory_{name});" for name in temporaries),
        "    return pg_status;",
    ]
