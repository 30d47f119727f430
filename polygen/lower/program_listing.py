"""A loop program as text: rows of what is executed, and a note beside each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from polygen.ir.array import AddressSpace
from polygen.ir.show_expression import show_expression
from polygen.lower.loop_nodes import (
    ENDLESS,
    Assign,
    Barrier,
    Block,
    BlocksBegun,
    Call,
    Declare,
    HostLoop,
    HostNode,
    If,
    Loop,
    Shuffle,
    TensorProduct,
    Verbatim,
    Wait,
)

_Row: TypeAlias = tuple[str, str]
_INDENT = "  "


def host_lines(nodes: Sequence[HostNode]) -> list[str]:
    """Return the lines of launches and of the loops around them."""
    return _table([row for node in nodes for row in _host_rows(node, 0)])


def _table(rows: Sequence[_Row]) -> list[str]:
    width = max((len(text) for text, note in rows if note and len(text) <= 60), default=0)
    return [f"{text:{width}}  # {note}" if note else text for text, note in rows]


def _range(loop: Loop | HostLoop) -> str:
    lower, upper = show_expression(loop.lower), show_expression(loop.upper)
    upper = "infinity" if loop.upper == ENDLESS else upper
    step = "" if loop.step == 1 else f", step {loop.step}"
    runs = "" if loop.runs is None else f", while {show_expression(loop.runs)}"
    return f"{loop.iname} in [{lower}, {upper}){step}{runs}:"


def _host_rows(node: HostNode, depth: int) -> Iterator[_Row]:
    indent = _INDENT * depth
    if isinstance(node, HostLoop):
        yield f"{indent}for {_range(node)}", "on the host"
        for child in node.body:
            yield from _host_rows(child, depth + 1)
        return
    names = ", ".join(a.name for a in node.arguments)
    yield f"{indent}launch {node.name}({names}):", ""
    for axis in node.axes:
        inames = (
            f"{iname} = {axis.tag}" + ("" if first == 0 else f" + {show_expression(first)}")
            for iname, first in axis.inames
        )
        yield (
            f"{indent}{_INDENT}{axis.tag} in [0, {show_expression(axis.size)}):",
            ", ".join(inames),
        )
    yield from _rows(node.body, depth + 1)


def _rows(block: Block, depth: int) -> Iterator[_Row]:
    indent = _INDENT * depth
    for node in block:
        if isinstance(node, Declare):
            yield indent + _declaration(node), ""
        elif isinstance(node, Shuffle):
            whose = f"of the work item {node.distance:+} of the sub-group"
            yield f"{indent}{node.dtype.name} {node.name} = {show_expression(node.element)}", whose
        elif isinstance(node, Assign):
            sides = [
                ", ".join(map(show_expression, side)) for side in zip(*node.pairs, strict=True)
            ]
            atomic = "" if node.atomicity is None else f" ({node.atomicity})"
            later = " (asynchronous)" if node.asynchronous else ""
            yield f"{indent}{' = '.join(sides)}", node.insn_id + atomic + later
        elif isinstance(node, Verbatim):
            names = ", ".join(f"{name} = {show_expression(value)}" for name, value in node.names)
            yield f"{indent}code ({names}): {node.code!r}", node.insn_id
        elif isinstance(node, Call):
            given = ", ".join(map(show_expression, node.arguments))
            yield f"{indent}{node.function}({given})", node.insn_id
        elif isinstance(node, Barrier):
            spaces = ", ".join(sorted(space.value for space in node.address_spaces))
            yield f"{indent}barrier ({spaces})", ""
        elif isinstance(node, Wait | BlocksBegun):
            what = "asynchronous copies" if isinstance(node, Wait) else "blocks to begin"
            yield f"{indent}wait", f"for {what}"
        else:
            yield from _nested(node, depth)


def _nested(node: If | Loop | TensorProduct, depth: int) -> Iterator[_Row]:
    indent = _INDENT * depth
    if isinstance(node, If):
        yield f"{indent}if {show_expression(node.condition)}:", ""
        yield from _rows(node.body, depth + 1)
        return
    loop, note = node, ""
    if isinstance(loop, TensorProduct):
        loop, note = loop.nest, "on tensor cores"
    yield f"{indent}for {_range(loop)}", note or _threads(loop)
    yield from _rows(loop.body, depth + 1)


def _declaration(node: Declare) -> str:
    space = "" if node.address_space is AddressSpace.PRIVATE else f"{node.address_space.value} "
    if node.in_registers:
        space = "registers "
    of = "" if node.vector is None else f"x{node.vector}"
    text = f"{space}{'const ' if node.constant else ''}{node.dtype.name}{of} {node.name}"
    if node.extent is not None:
        text += f"[{node.extent}]"
    if node.parts is not None:
        text += f" in {node.parts} parts"
    return text if node.initial is None else f"{text} = {show_expression(node.initial)}"


def _threads(loop: Loop) -> str:
    if loop.unroll:
        return "to be unrolled"
    if loop.at_once:
        return "at once"
    if loop.parallel < 2:
        return "parallel" if loop.parallel else ""
    return f"parallel, with the {loop.parallel - 1} inside"
