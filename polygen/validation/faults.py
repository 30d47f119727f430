"""Names the faults of a loop program that is not its kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from polygen.analysis.integers.second_instance import OTHER
from polygen.errors import WrongLoopProgram
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt

_Fault = TypeVar("_Fault", bound=WrongLoopProgram)


def fault(
    kind: type[_Fault],
    kernel: Kernel,
    what: str,
    *insns: Instruction,
    point: Mapping[str, int] | None = None,
) -> _Fault:
    """Return the error that says what is wrong with a loop program.

    Parameters:
        kind: the class of the error.
        kernel: the kernel.
        what: what is wrong, as a clause.
        insns: the instructions that it is about.
        point: sizes for which it is so, if it is about these: nothing else of it is shown.
    """
    sizes = shown(point, kernel.parameters) if point else ""
    return kind(
        f"the loop program of kernel '{kernel.name}' is wrong: {f'for {sizes}, ' if sizes else ''}"
        f"{what}",
        where=insns[0].location if insns else kernel.location,
        excerpt=excerpt(kernel, *(insn.id for insn in insns)) if insns else None,
    )


def shown(point: Mapping[str, int], names: Iterable[str]) -> str:
    """Return those of the values that a point has: ``i=1, j=2``."""
    return ", ".join(f"{name}={point[name]}" for name in names if name in point)


def instance(
    kernel: Kernel, insn: Instruction, point: Mapping[str, int], *, other: bool = False
) -> str:
    """Return what an instance is called: ``update[i=1, j=2]``; of a pair, its other one."""
    suffix = OTHER if other else ""
    inames = [i for i in kernel.inames if i in insn.within_inames]
    values = {i: point[i + suffix] for i in inames if i + suffix in point}
    return f"{insn.id}[{shown(values, inames)}]"
