"""Finds barriers of a loop program without which the order would still be the kernel's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polygen.errors import WrongOrder
from polygen.ir.kernel import Kernel
from polygen.lower.program import Barrier, Launch, LoopProgram
from polygen.validation.exchange import Exchange
from polygen.validation.frames import Frame, Statement
from polygen.validation.separation import Position
from polygen.validation.view import View
from polygen.validation.works import Works, works_of


@dataclass(frozen=True)
class BarrierPlace:
    """The place of a barrier in a loop program.

    Attributes:
        launch: the name of the launch.
        after: the instruction of the last statement before it in the text, if there is one.
        before: that of the next statement after it.
    """

    launch: str
    after: str | None
    before: str | None

    def __str__(self) -> str:
        around = [f"after '{self.after}'"] if self.after else []
        around += [f"before '{self.before}'"] if self.before else []
        return f"in '{self.launch}', {' and '.join(around) or 'alone'}"


def redundant_barriers(kernel: Kernel, program: LoopProgram) -> tuple[BarrierPlace, ...]:
    """Return the barriers of a loop program without which the order would be the kernel's, too.

    Each of them alone may be left out; two of them together need not be.

    Parameters:
        kernel: what was lowered: with types, and without substitution rules.
        program: a loop program that is the kernel (see `polygen.validation.validate`).
    """
    view = View(kernel, program)
    works = works_of(view)
    return tuple(
        place
        for launch in view.frames
        if isinstance(launch.node, Launch)
        for place, barrier in _barriers(launch, launch.node.name)
        if _is_redundant(view, works, barrier)
    )


def _is_redundant(view: View, works: Works, barrier: Position) -> bool:
    try:
        Exchange(view, works, without=frozenset((barrier,))).check()
    except WrongOrder:
        return False
    return True


def _barriers(launch: Frame, name: str) -> Iterator[tuple[BarrierPlace, Position]]:
    """Yield the barriers of a launch."""
    text = list(_text(launch))
    for at, item in enumerate(text):
        if not isinstance(item, str):
            before = next((i for i in reversed(text[:at]) if isinstance(i, str)), None)
            after = next((i for i in text[at:] if isinstance(i, str)), None)
            yield BarrierPlace(name, before, after), item


def _text(frame: Frame) -> Iterator[str | Position]:
    """Yield the instructions of the statements in a frame, and the barriers, as they stand."""
    items: list[tuple[int, Frame | Statement | None]] = [(c.position, c) for c in frame.children]
    items += [(at, None) for at, node in enumerate(frame.block) if isinstance(node, Barrier)]
    for position, item in sorted(items, key=lambda pair: pair[0]):
        if item is None:
            yield frame, position
        elif isinstance(item, Frame):
            yield from _text(item)
        else:
            yield item.insn_id
