"""The instances of a kernel in the order in which an execution has them, and what they touch."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polygen.ir.kernel import Kernel
from tests.oracle import interpreter
from tests.oracle.evaluate import OracleError

Instance = tuple[str, tuple[tuple[str, int], ...]]
Touch = tuple[str, tuple[int, ...], bool]


def instance(insn_id: str, inames: Mapping[str, int]) -> Instance:
    """Return what identifies an instance."""
    return insn_id, tuple(sorted(inames.items()))


@dataclass
class Trace:
    """What happened in an execution.

    Attributes:
        order: the instances, in order.
        touched: what each reads and writes: variable, subscripts, whether it is written.
        items: the work item of each, as far as its inames say.
    """

    order: list[Instance] = field(default_factory=list)
    touched: dict[Instance, set[Touch]] = field(default_factory=dict)
    items: dict[Instance, Mapping[Any, int]] = field(default_factory=dict)


class _Recorder(interpreter._Run):
    def __init__(self, kernel: Kernel, arguments: Mapping[str, Any], seed: int) -> None:
        super().__init__(kernel, arguments, random.Random(seed))
        self.trace = Trace()
        self._now: set[Touch] = set()
        read, write = self.memory.read, self.memory.write

        def reading(name: str, index: tuple[int, ...], items: Any) -> Any:
            self._now.add((name, index, False))
            try:
                return read(name, index, items)
            except OracleError:
                return self.samples[name]  # what the order is, is seen nevertheless

        def writing(name: str, index: tuple[int, ...], value: Any, items: Any) -> None:
            self._now.add((name, index, True))
            write(name, index, value, items)

        self.memory.read = reading  # type: ignore[method-assign]
        self.memory.write = writing  # type: ignore[method-assign]

    def _execute(self, at: Any, insn: Any) -> None:
        self._now = set()
        super()._execute(at, insn)
        key = instance(insn.id, at.inames)
        self.trace.order.append(key)
        self.trace.touched[key] = self._now
        self.trace.items[key] = self.items(at.inames)


def trace(kernel: Kernel, arguments: Mapping[str, Any], seed: int) -> Trace:
    """Execute a kernel and return what happened; reads of what was not written are let pass."""
    run = _Recorder(kernel, arguments, seed)
    with np.errstate(all="ignore"):
        run.execute(run.instructions, {})
    return run.trace
