"""The part of a report with pictures of domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from polygen.errors import UserError
from polygen.inspection.pages.elements import Html, element, joined
from polygen.inspection.pages.number_parts import image
from polygen.inspection.plots.drawing import matplotlib
from polygen.inspection.plots.plot_domain import plot_domain
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import GroupTag
from polygen.language.parser import parse_expression


def pictures(kernel: Kernel, sizes: Mapping[str, int]) -> Html:
    """Return pictures of the domains of a kernel: one for instructions in the same loops.

    Raises:
        NoMatplotlib: if matplotlib is not installed.
    """
    matplotlib("figure")  # or nothing can be drawn
    plain = kernel.expanded
    together: dict[frozenset[str], list[Instruction]] = {}
    for insn in plain.instructions:
        together.setdefault(insn.within_inames, []).append(insn)
    return joined(_picture(plain, sizes, insns) for insns in together.values())


def _picture(kernel: Kernel, sizes: Mapping[str, int], insns: Sequence[Instruction]) -> Html:
    ids = ", ".join(insn.id for insn in insns)
    axes = _axes(insns)
    if len(axes) not in (2, 3):
        said = f"Not drawn: {ids}. That takes two or three axes: see pg.plot_domain."
        return element("p", said, class_="note")
    seen = frozenset[str]().union(*(walk.free_variables(parse_expression(a)) for a in axes))
    tiles = [i for i in kernel.inames if i in seen and isinstance(kernel.tags.get(i), GroupTag)]
    queries = [f"id:{insn.id}" for insn in insns]
    try:
        ax = plot_domain(kernel, sizes, axes, within=queries, tiles=tiles, dependences=True)
    except UserError as error:
        return element("p", f"Not drawn: {ids}. {error}", class_="refusal")
    caption = f"Instances of {ids}, and their dependences"
    return image(_svg(ax), caption + (f"; shaded by {', '.join(tiles)}" if tiles else ""))


def _axes(insns: Sequence[Instruction]) -> list[str]:
    """Return the loops, if these are two or three; else the subscripts of what is written.

    So the iterations of loops that were split stand where those of the whole ones did.
    """
    inames = sorted(insns[0].within_inames)
    if len(inames) in (2, 3):
        return inames
    for insn in insns:
        written = insn.assignees[0] if isinstance(insn, Assigning) and insn.assignees else None
        if isinstance(written, ex.Subscript):
            return [show_expression(subscript) for subscript in ex.index_tuple(written)]
    return inames


def _svg(ax: Any) -> str:
    """Return a picture as SVG, the same whenever it is drawn, and forget it."""
    text = StringIO()
    with matplotlib("pyplot").rc_context({"svg.hashsalt": "polygen"}):
        ax.figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    matplotlib("pyplot").close(ax.figure)
    return text.getvalue()
