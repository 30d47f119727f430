"""The dependency graph as SVG: instructions in their loops, one below the other, and arcs.

Boxes are the loops, in the order of the generated code.  To the left of the instructions are their
dependencies, to the right the dependences: each arc runs in a lane of its own, short ones inside.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from polygen.analysis.dataflow.dependences import Dependence
from polygen.analysis.expansion.call_origins import calls_of_parts
from polygen.inspection.pages.elements import Html, element
from polygen.inspection.pages.nested_boxes import Box, Item, nesting
from polygen.inspection.pages.style import PICTURE_STYLE
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_work
from polygen.ir.tags import is_parallel

_CHARACTER = 7.3  # the width of one, in the font of 12 pixels that the style names
_LINE, _GAP, _INDENT, _LANE = 18, 8, 12, 12
_Point: TypeAlias = tuple[float, float]
_LONGEST = 64  # characters of an instruction


@dataclass(frozen=True)
class _Frame:
    """A box of the picture: of a loop, or of an instruction."""

    texts: tuple[str, ...]
    kind: str
    depth: int
    top: float
    bottom: float
    about: str


@dataclass(frozen=True)
class _Arc:
    """An edge: between the instructions at two places, counted from above."""

    first: int
    second: int
    kind: str
    about: str

    @property
    def ends(self) -> tuple[int, int]:
        return min(self.first, self.second), max(self.first, self.second)


def graph(kernel: Kernel, found: Iterable[Dependence]) -> Html:
    """Return the picture of a kernel's instructions, their loops, and what orders them.

    Parameters:
        kernel: its types need not be known.
        found: its dependences, as far as they are to be drawn.
    """
    problem, picture = _picture(kernel, found)
    said = [element("p", problem, class_="refusal")] if problem else []
    scrolled = element(
        "div", picture.element(), class_="wide", tabindex="0", role="group", aria_label="graph"
    )
    return element("div", *said, scrolled, _legend())


def graph_file(kernel: Kernel, found: Iterable[Dependence]) -> str:
    """Return the same picture as a file of its own, in SVG."""
    problem, picture = _picture(kernel, found)
    style = element("style", Html(PICTURE_STYLE))
    if problem:
        lines = textwrap.wrap(problem, _LONGEST)
        picture = picture.below([_text(_INDENT, 0, line, "work") for line in lines])
    return picture.element(style, xmlns="http://www.w3.org/2000/svg") + "\n"


@dataclass(frozen=True)
class _Picture:
    """A picture of some size, and what is in it."""

    title: str
    width: float
    height: float
    parts: tuple[Html, ...]

    def element(self, *before: Html, **attributes: str) -> Html:
        return element(
            "svg", *before, *self.parts, role="img", aria_label=self.title, class_="graph",
            width=f"{self.width:.0f}", height=f"{self.height:.0f}",
            viewBox=f"0 0 {self.width:.0f} {self.height:.0f}", **attributes,
        )  # fmt: skip

    def below(self, lines: Sequence[Html]) -> _Picture:
        """Return the picture with lines of text above it."""
        moved = [
            element("g", line, transform=f"translate(0 {_LINE * (at + 1)})")
            for at, line in enumerate(lines)
        ]
        top = _LINE * len(lines) + _GAP
        rest = element("g", *self.parts, transform=f"translate(0 {top})")
        width = max(self.width, _LONGEST * _CHARACTER + 2 * _INDENT)
        return _Picture(self.title, width, self.height + top, (*moved, rest))


def _picture(kernel: Kernel, found: Iterable[Dependence]) -> tuple[str | None, _Picture]:
    """Return why there is no nest of loops, if there is none, and the picture."""
    nest = nesting(kernel, in_order=True)
    layout = _Layout(kernel)
    layout.place(nest.items, 0)
    at = {insn_id: position for position, insn_id in enumerate(layout.order)}
    left = _with_lanes(_dependencies(kernel, at))
    at |= {part: at[call.id] for part, call in calls_of_parts(kernel).items()}
    right = _with_lanes(
        _Arc(at[d.source], at[d.sink], d.kind, " ".join(str(d).split())) for d in found
    )
    start = 14.0 + _LANE * (1 + max((lane for _, lane in left), default=-1))
    end = start + max((_width(frame) for frame in layout.frames), default=0.0)
    width = end + 14 + _LANE * (1 + max((lane for _, lane in right), default=-1))
    parts = [_drawn(f, start, end) for f in layout.frames]
    parts += _arcs(left, layout, start, -1)
    parts += _arcs(right, layout, end, 1)
    title = (
        f"{len(layout.order)} instructions of '{kernel.name}' in their loops, and what orders them"
    )
    return nest.problem, _Picture(title, width, layout.y, tuple(parts))


class _Layout:
    """Places boxes below each other.

    Attributes:
        frames: what is placed, outer boxes before what is in them.
        order: the ids of the instructions, from above.
        places: their boxes, in the same order.
        y: where the next one begins.
    """

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self.frames: list[_Frame] = []
        self.order: list[str] = []
        self.places: list[_Frame] = []
        self.y = float(_GAP)

    def place(self, items: Sequence[Item], depth: int) -> None:
        for item in items:
            if isinstance(item, Box):
                self._loop(item, depth)
            else:
                self._instruction(item, depth)

    def _loop(self, box: Box, depth: int) -> None:
        tag = self._kernel.tags.get(box.iname)
        text = box.iname if tag is None else f"{box.iname}: {tag}"
        here, top = len(self.frames), self.y
        self.y += _LINE + _GAP
        self.place(box.children, depth + 1)
        kind = "parallel" if is_parallel(tag) else "loop"
        self.frames.insert(here, _Frame((text,), kind, depth, top, self.y, text))
        self.y += _GAP

    def _instruction(self, insn: Instruction, depth: int) -> None:
        work = " ".join(show_work(insn).split())
        short = work if len(work) <= _LONGEST else work[: _LONGEST - 2] + " …"
        bottom = self.y + 2 * _LINE + 4
        frame = _Frame((insn.id, short), "instruction", depth, self.y, bottom, work)
        self.frames.append(frame)
        self.order.append(insn.id)
        self.places.append(frame)
        self.y = bottom + _GAP


def _width(frame: _Frame) -> float:
    return max(map(len, frame.texts)) * _CHARACTER + 2 * _INDENT * (1 + frame.depth)


def _drawn(frame: _Frame, start: float, end: float) -> Html:
    inset = _INDENT * frame.depth
    left, right = start + inset, end - inset
    box = element(
        "rect", x=f"{left:.1f}", y=f"{frame.top:.1f}", width=f"{right - left:.1f}",
        height=f"{frame.bottom - frame.top:.1f}", rx="4", class_=frame.kind,
    )  # fmt: skip
    first, *others = frame.texts
    texts = [_text(left + 8, frame.top + _LINE - 4, first, "name")]
    texts += [_text(left + 8, frame.top + 2 * _LINE - 3, other, "work") for other in others]
    return element("g", element("title", frame.about), box, *texts)


def _text(x: float, y: float, text: str, kind: str) -> Html:
    return element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", class_=kind)


def _dependencies(kernel: Kernel, at: dict[str, int]) -> Iterator[_Arc]:
    for insn in kernel.instructions:
        for first in sorted(insn.depends_on):
            about = f"'{insn.id}' comes after '{first}'"
            yield _Arc(at[first], at[insn.id], "declared", about)
        for relation in sorted(insn.happens_after, key=lambda r: (r.first, str(r))):
            about = f"'{insn.id}' comes after '{relation.first}': {relation}"
            yield _Arc(at[relation.first], at[insn.id], "declared", about)


def _with_lanes(arcs: Iterable[_Arc]) -> list[tuple[_Arc, int]]:
    """Return each arc with its lane: the innermost in which no shorter one is in its way."""
    lanes: list[list[tuple[float, float]]] = []
    found: list[tuple[_Arc, int]] = []
    for arc in sorted(dict.fromkeys(arcs), key=lambda a: (a.ends[1] - a.ends[0], a.ends)):
        low, high = arc.ends
        # An arc from an instruction to itself needs some room; others may touch at their ends.
        span = (low - 0.3, high + 0.3) if low == high else (low + 0.1, high - 0.1)
        free = [
            lane
            for lane, taken in enumerate(lanes)
            if all(span[1] < start or end < span[0] for start, end in taken)
        ]
        lane = free[0] if free else len(lanes)
        if not free:
            lanes.append([])
        lanes[lane].append(span)
        found.append((arc, lane))
    return found


def _arcs(arcs: Sequence[tuple[_Arc, int]], layout: _Layout, edge: float, side: int) -> list[Html]:
    """Return arcs at the left (-1) or the right (1) of the instructions, none over another."""
    heights = _heights(arcs, layout)
    drawn: list[Html] = []
    for arc, lane in arcs:
        ends = ((arc, False), (arc, True))
        (x1, y1), (x2, y2) = (
            (edge - side * _INDENT * layout.places[at].depth, heights[end])
            for at, end in zip((arc.first, arc.second), ends, strict=True)
        )
        drawn.append(_arc(arc, (x1, y1), (x2, y2), edge + side * (10 + _LANE * lane)))
    return drawn


def _heights(arcs: Sequence[tuple[_Arc, int]], layout: _Layout) -> dict[tuple[_Arc, bool], float]:
    """Return where each arc starts (False) and ends (True): spread, so that arcs do not cross."""
    at_place: dict[int, list[tuple[tuple[int, int], _Arc, bool]]] = {}
    for arc, lane in arcs:
        for here, there, is_end in ((arc.first, arc.second, False), (arc.second, arc.first, True)):
            # From above, short ones first; then those of the instruction to itself.
            rank = (1, lane + 1 if is_end else -lane - 1)
            if here != there:
                rank = (0, lane) if there < here else (2, -lane)
            at_place.setdefault(here, []).append((rank, arc, is_end))
    heights: dict[tuple[_Arc, bool], float] = {}
    for place, ends in at_place.items():
        frame = layout.places[place]
        step = (frame.bottom - frame.top) / (len(ends) + 1)
        for number, (_, arc, is_end) in enumerate(sorted(ends, key=lambda e: e[0]), start=1):
            heights[arc, is_end] = frame.top + number * step
    return heights


def _arc(arc: _Arc, start: _Point, end: _Point, out: float) -> Html:
    """Return an arc that runs at `out`, and its arrow head."""
    (x1, y1), (x2, y2) = start, end
    side = 1 if out > x2 else -1
    turn = min(6.0, abs(y2 - y1) / 2) * (1 if y2 > y1 else -1)
    bend = abs(turn) * side
    line = (
        f"M{x1:.1f} {y1:.1f}H{out - bend:.1f}Q{out:.1f} {y1:.1f} {out:.1f} {y1 + turn:.1f}"
        f"V{y2 - turn:.1f}Q{out:.1f} {y2:.1f} {out - bend:.1f} {y2:.1f}H{x2 + 5 * side:.1f}"
    )
    head = f"M{x2:.1f} {y2:.1f}l{7 * side} -3.5v7z"
    return element(
        "g", element("title", arc.about), element("path", d=line, class_="arc"),
        element("path", d=head, class_="head"), class_=arc.kind,
    )  # fmt: skip


def _legend() -> Html:
    return element(
        "p",
        "Left: what the kernel says has to come after what. Right: dependences, ",
        *(
            part
            for kind, style in (("flow", "solid"), ("anti", "dashed"), ("output", "dotted"))
            for part in (element("span", kind, class_=f"key {kind}"), f" ({style}) ")
        ),
        class_="legend",
    )
