"""OpenCL programs with all that a call needs, as files: see `tests.deep.run_opencl`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import polygen as pg
from polygen.ir.array import GlobalArg, ValueArg
from polygen.lower.program import HostNode, Launch
from polygen.targets.programs.program import DeviceFunction, Program
from tests.deep.case_table import Case
from tests.oracle.compare import make_arguments, typed
from tests.oracle.evaluate import integer
from tests.oracle.interpreter import interpret

Job: TypeAlias = dict[str, Any]


class Jobs:
    """Collects programs, and the arrays that they are called with."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self._arrays: dict[str, Any] = {}

    def add(
        self,
        case: Case,
        *,
        name: str = "",
        compare: bool = True,
    ) -> None:
        """Add a case.

        Parameters:
            name: of the kernel, if not the case's.
            compare: whether to compare all arrays with what the kernel means.
        """
        arguments = make_arguments(case.kernel, case.sizes, 0, **case.given)
        kernel = typed(case.kernel, arguments).copy(name=name or case.name)
        program = pg.generate_code(kernel, "opencl")
        given = [a.name for a in kernel.arguments if isinstance(a, GlobalArg)]
        wanted = interpret(kernel, arguments).arrays if compare else {}
        self.jobs.append(
            {
                "name": kernel.name,
                "source": program.source,
                "arrays": {n: self._kept(f"{kernel.name}.{n}", arguments[n]) for n in given},
                "wanted": {
                    n: self._kept(f"{kernel.name}.{n}.wanted", a) for n, a in wanted.items()
                },
                "temporaries": dict(_temporaries(program)),
                "launches": list(_launches(program, arguments)),
            }
        )

    def write(self, folder: Path) -> None:
        """Write what `tests.deep.run_opencl` reads."""
        np.savez(folder / "arrays.npz", **self._arrays)
        (folder / "jobs.json").write_text(json.dumps(self.jobs))

    def _kept(self, key: str, array: Any) -> str:
        self._arrays[key] = array
        return key


def _temporaries(program: Program) -> Iterator[tuple[str, int]]:
    for temporary in program.loop_program.global_temporaries:
        assert temporary.dtype is not None
        counts = [integer(extent, {}) for extent in temporary.shape]
        yield temporary.name, int(np.prod(counts, dtype=int)) * temporary.dtype.itemsize


def _launches(program: Program, arguments: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Yield each launch in order: function, number of work items, group, what is passed."""
    functions = {function.name: function for function in program.launches}
    scalars = {n: v for n, v in arguments.items() if not isinstance(v, np.ndarray)}
    for launch, values in _sequence(program.loop_program.host, scalars):
        function = functions[launch.name]
        sizes = {n: v for n, v in values.items() if isinstance(v, int)}
        group = list(function.local_size or (1,))
        counts = [integer(count, sizes) for count in function.group_counts or (1,)]
        size = [max(0, n) * m for n, m in zip(counts, group, strict=True)]
        if 0 not in size:
            yield [function.name, size, group, list(_passed(function, values))]


def _passed(function: DeviceFunction, values: Mapping[str, Any]) -> Iterator[Any]:
    for arg in function.arguments:
        if isinstance(arg, ValueArg):
            assert arg.dtype is not None
            yield arg.dtype.name, np.asarray(values[arg.name]).item()
        else:
            yield arg.name


def _sequence(
    nodes: Sequence[HostNode], values: Mapping[str, Any]
) -> Iterator[tuple[Launch, Mapping[str, Any]]]:
    for node in nodes:
        if isinstance(node, Launch):
            yield node, values
            continue
        sizes = {n: v for n, v in values.items() if isinstance(v, int)}
        bounds = (integer(node.lower, sizes), integer(node.upper, sizes))
        for index in range(*bounds, node.step):
            yield from _sequence(node.body, {**values, node.iname: index})
