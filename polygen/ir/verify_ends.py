"""Checks loops that have no end but a condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.errors import EndlessLoop
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.instruction import Barrier, Instruction, NoOp
from polygen.ir.kernel import Kernel
from polygen.ir.layout import layout_expressions
from polygen.ir.loop_flags import asked_flags, may_end
from polygen.ir.show import show_instruction
from polygen.ir.sizes import open_ends


def check_open_ends(kernel: Kernel) -> None:
    """Check that a condition ends each loop that has no other end, and that nothing asks for one.

    Parameters:
        kernel: a kernel whose rules and calls are expanded.

    Raises:
        EndlessLoop: if that is not so.
    """
    ends = open_ends(kernel.derived_sizes)
    if not ends:
        return
    for name, where in _mentioned(kernel):
        if name in ends:
            raise EndlessLoop(
                f"{where} mentions '{name}', the end of a loop that only a condition ends: nobody "
                "knows it before",
                where=kernel.location,
                remedy="bound the loop: { [t]: 0 <= t < most }, and let the condition end it "
                "earlier",
            )
    for domain in kernel.domains:
        if not ends.isdisjoint(domain.parameters):
            for iname in domain.inames:
                _check_loop(kernel, iname)


def _mentioned(kernel: Kernel) -> Iterator[tuple[str, str]]:
    """Yield the names that texts mention which need to be known, and where that is."""
    for name in kernel.assumptions.parameters:
        yield name, "an assumption"
    for insn in kernel.instructions:
        names = insn.read_names.union(*(r.parameters for r in insn.happens_after))
        yield from ((name, f"instruction '{insn.id}'") for name in names)
    arrays = [a for a in (*kernel.arguments, *kernel.temporaries) if not isinstance(a, ValueArg)]
    for array in arrays:
        for extent in (*(array.shape or ()), *layout_expressions(array)):
            for name in walk.free_variables(extent):
                yield name, f"the shape of '{array.name}'"
    for size in kernel.derived_sizes:
        yield from ((name, f"the size {size}") for name in size.names)
    for condition in kernel.separations:
        yield from ((name, "a separation") for name in walk.free_variables(condition))


def _check_loop(kernel: Kernel, iname: str) -> None:
    inside: list[Instruction] = []
    for insn in kernel.instructions:
        if iname in insn.reduction_inames:
            raise _endless(kernel, iname, insn, "reduces over")
        if iname in insn.within_inames and not isinstance(insn, Barrier | NoOp):
            inside.append(insn)
    if not inside or may_end(kernel, inside):
        return
    asked = [asked_flags(insn) for insn in inside]
    most = max(sorted({n for names in asked for n in names}), default="", key=_uses(asked).count)
    lacking = next((i for i, names in zip(inside, asked, strict=True) if most not in names), None)
    raise _endless(kernel, iname, lacking or inside[0], "is in", most)


def _uses(asked: Sequence[Sequence[str]]) -> list[str]:
    return [name for names in asked for name in names]


def _endless(
    kernel: Kernel, iname: str, insn: Instruction, does: str, flag: str = ""
) -> EndlessLoop:
    asked = f"where '{flag}' is 0" if flag else "in all of its iterations"
    return EndlessLoop(
        f"instruction '{insn.id}' {does} the loop of '{iname}', which has no end but a condition, "
        f"and is executed {asked}",
        where=insn.location,
        excerpt=show_instruction(insn, kernel.inames),
        remedy=f"put it between 'for {iname} while ...' and its 'end', or bound '{iname}' by a "
        "size",
    )
