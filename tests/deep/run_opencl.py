"""Runs kernels on the first OpenCL device: what a simulator watches.

    oclgrind --log FILE python -m tests.deep.run_opencl cases|planted

With ``cases``, all results are compared with what the kernels mean.  With ``planted``, each kernel
has a mistake, and nothing is compared.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pyopencl as cl
import pyopencl.array as cla

from polygen.pipeline import build_program
from polygen.targets.program import Program
from tests.deep.cases import Case, all_cases
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret

SIMULATOR = "Oclgrind"
_KEPT: list[Any] = []


def run(case: Case, queue: cl.CommandQueue, *, compare: bool) -> None:
    """Run a case; compare all arrays with what the kernel means, bit by bit."""
    arguments = make_arguments(case.kernel, case.sizes, 0, **case.given)
    kernel = typed(case.kernel, arguments)
    passed = {
        n: cla.to_device(queue, v) if isinstance(v, np.ndarray) else v for n, v in arguments.items()
    }
    # Oclgrind 21.10 gives new memory the old size where it looks for what is uninitialized, if
    # there was other memory at the same address: so nothing is freed.
    _KEPT.extend((kernel, passed))
    kernel(queue, **passed)
    queue.finish()
    if compare:
        for name, wanted in interpret(kernel, arguments).arrays.items():
            found = passed[name].get()
            np.testing.assert_array_equal(found, wanted, err_msg=f"{case.name}: {name}")


# --- mistakes


def _edited(old: str, new: str) -> AbstractContextManager[Any]:
    """Have generated code changed before it is compiled."""

    def edited(*args: Any) -> Program:
        program = build_program(*args)
        assert old in program.source, program.source
        return replace(program, source=program.source.replace(old, new))

    return patch("polygen.runtime.variant.build_program", edited)


def _without_barriers() -> AbstractContextManager[Any]:
    return patch("polygen.lower.lower.place_barriers", lambda kernel, tree: tuple(tree))


_BARRIER = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"
_LOAD = "tile[i] = a[8 * g + i];"

PLANTED: Mapping[str, tuple[str, Callable[[], AbstractContextManager[Any]]]] = {
    "unharmed": ("reversed_tile", nullcontext),
    "missing_barrier": ("reversed_tile", _without_barriers),
    "divergent_barrier": (
        "reversed_tile",
        lambda: _edited(_BARRIER, f"if (i < 4) {_BARRIER}"),
    ),
    "local_out_of_bounds": ("reversed_tile", lambda: _edited("tile[8]", "tile[7]")),
    "uninitialized_local": ("reversed_tile", lambda: _edited(_LOAD, f"if (i > 0) {_LOAD}")),
    "global_out_of_bounds": ("guarded", lambda: _edited("< n", "<= n")),
    "global_race": ("guarded", lambda: _edited("out[8 * i_outer + i_inner]", "out[i_inner]")),
}


def run_planted(name: str, queue: cl.CommandQueue) -> None:
    like, mistake = PLANTED[name]
    case = next(c for c in all_cases() if c.name.startswith(like) and c.sizes["n"] in (3, 17))
    with mistake():
        run(Case(name, case.kernel.copy(name=name), case.sizes, case.given), queue, compare=False)


def main(what: str) -> None:
    platform = cl.get_platforms()[0]
    if platform.name != SIMULATOR:
        raise SystemExit(f"this is platform {platform.name}, and not {SIMULATOR}")
    queue = cl.CommandQueue(cl.Context(platform.get_devices()))
    if what == "planted":
        for name in PLANTED:
            run_planted(name, queue)
        return
    cases = all_cases()
    for case in cases:
        run(case, queue, compare=True)
        sys.stdout.write(f"{case.name}\n")


if __name__ == "__main__":
    main(sys.argv[1])
