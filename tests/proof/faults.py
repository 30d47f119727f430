"""What goes wrong when a kernel is executed, instance by instance, for small sizes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from polygen.ir.kernel import Kernel
from tests.oracle import interpreter
from tests.oracle.evaluate import OracleError


@dataclass(frozen=True)
class Where:
    """An instance, or one contribution to a reduction in it."""

    insn_id: str
    at: tuple[tuple[str, int], ...]

    @property
    def inames(self) -> dict[str, int]:
        """The values of its inames."""
        return dict(self.at)


Fault = tuple[Where, str]  # and what the interpreter says of it


class _Run(interpreter._Run):
    """Goes on after a fault."""

    def __init__(self, kernel: Kernel, arguments: Mapping[str, Any], seed: int) -> None:
        super().__init__(kernel, arguments, random.Random(seed))
        self.faults: set[Fault] = set()
        self._now = Where("", ())
        read, write = self.memory.read, self.memory.write

        def reading(name: str, index: tuple[int, ...], items: Any) -> Any:
            try:
                return read(name, index, items)
            except OracleError as error:
                self.faults.add((self._now, str(error)))
                return self.samples[name]

        def writing(name: str, index: tuple[int, ...], value: Any, items: Any) -> None:
            try:
                write(name, index, value, items)
            except OracleError as error:
                self.faults.add((self._now, str(error)))

        self.memory.read = reading  # type: ignore[method-assign]
        self.memory.write = writing  # type: ignore[method-assign]

    def _execute(self, at: Any, insn: Any) -> None:
        # What contributes to a reduction is called after its instruction, with a mark.
        self._now = Where(insn.id.partition("'")[0], tuple(sorted(at.inames.items())))
        super()._execute(at, insn)


def faults(kernel: Kernel, arguments: Mapping[str, Any], seed: int = 0) -> set[Fault]:
    """Return what goes wrong, and where."""
    run = _Run(kernel, arguments, seed)
    with np.errstate(all="ignore"):
        run.execute(run.instructions, {})
    return run.faults
