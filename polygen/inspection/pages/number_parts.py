"""The parts of a report that are numbers: counts, footprints, what bounds a kernel."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from polygen.errors import UserError
from polygen.inspection.counts.access_footprints import gather_access_footprint_bytes
from polygen.inspection.counts.count import Count
from polygen.inspection.counts.count_keys import CountGranularity, MemAccess, Op, Sync
from polygen.inspection.counts.mem_access_map import get_mem_access_map
from polygen.inspection.counts.op_map import get_op_map
from polygen.inspection.counts.synchronization_map import get_synchronization_map
from polygen.inspection.counts.trips import Trips
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.roofline import roofline
from polygen.inspection.pages.elements import Html, code, element, joined, refusal, table
from polygen.inspection.pages.parts import Part
from polygen.ir.dtype import dtype_name
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression

Sizes: TypeAlias = Mapping[str, int]
_Row: TypeAlias = tuple[tuple[str, ...], Count]  # what is counted, and how often it is done


def numbers(
    kernel: Kernel,
    sizes: Sizes,
    limits: Limits | None,
    measured: float | None,
    trips: Trips | None = None,
) -> Iterator[Part]:
    """Yield the numbers of a kernel: as formulas, and for given sizes if there are any.

    Operations and accesses are those of all work items together.
    """
    yield Part("Operations", lambda: _operations(kernel, sizes, trips))
    yield Part("Accesses of memory", lambda: _accesses(kernel, sizes, trips))
    yield Part("Bytes that are touched", lambda: _footprints(kernel, sizes, trips))
    yield Part("Synchronization", lambda: _synchronization(kernel, sizes, trips))
    if limits is not None:
        yield Part("Roofline", lambda: _roofline(kernel, limits, sizes, measured, trips))


def _operations(kernel: Kernel, sizes: Sizes, trips: Trips | None) -> Html:
    found = get_op_map(kernel, count_granularity=CountGranularity.WORKITEM, trips=trips)
    rows = [((_type(key), key.name or ""), n) for key, n in found.items()]
    return _counts(("type", "operation"), rows, sizes)


def _accesses(kernel: Kernel, sizes: Sizes, trips: Trips | None) -> Html:
    found = get_mem_access_map(kernel, count_granularity=CountGranularity.WORKITEM, trips=trips)
    rows = [(_access(key), n) for key, n in found.items()]
    head = ("array", "direction", "memory", "type", "strides of items", "of groups")
    return _counts(head, rows, sizes)


def _access(key: MemAccess) -> tuple[str, ...]:
    strides = (_strides(key.lid_strides), _strides(key.gid_strides))
    direction = key.direction or ""
    if key.lanes is not None:
        direction += f", {key.lanes} lanes"
    return (key.variable or "", direction, key.mtype or "", _type(key), *strides)


def _strides(strides: Mapping[int, Expression | None] | None) -> str:
    rows = sorted((strides or {}).items())
    return ", ".join(f"{a}: {'varies' if s is None else show_expression(s)}" for a, s in rows)


def _footprints(kernel: Kernel, sizes: Sizes, trips: Trips | None) -> Html:
    rows = [(key, n) for key, n in gather_access_footprint_bytes(kernel, trips=trips).items()]
    return _counts(("array", "direction"), rows, sizes)


def _synchronization(kernel: Kernel, sizes: Sizes, trips: Trips | None) -> Html:
    rows = [((_kind(k),), n) for k, n in get_synchronization_map(kernel, trips).items()]
    return _counts(("kind",), rows, sizes)


def _kind(key: Sync) -> str:
    return (key.kind or "").replace("_", " ")


def _type(key: Op | MemAccess) -> str:
    return "" if key.dtype is None else dtype_name(key.dtype)


def _counts(
    head: tuple[str, ...], rows: Sequence[tuple[tuple[str, ...], Count]], sizes: Sizes
) -> Html:
    """Return a table of numbers, sorted by what they are of."""
    if not rows:
        return element("p", "There are none.", class_="note")
    ordered = sorted(rows, key=lambda row: row[0])
    formulas = [(*key, str(count)) for key, count in ordered]
    if not sizes:
        return table((*head, "for any sizes"), formulas)
    try:
        values = [f"{count.eval_with_dict(sizes):,}" for _, count in ordered]
    except UserError as error:  # the formulas are there all the same
        return joined((table((*head, "for any sizes"), formulas), refusal(error)))
    at = ", ".join(f"{name}={value}" for name, value in sizes.items())
    # Formulas come last, for they may be long.
    lines = [(*key, value, str(count)) for (key, count), value in zip(ordered, values, strict=True)]
    return table((*head, f"for {at}", "for any sizes"), lines)


def _roofline(
    kernel: Kernel, limits: Limits, sizes: Sizes, measured: float | None, trips: Trips | None
) -> Html:
    found = roofline(kernel, limits, sizes, measured, trips)
    text = code(str(found))
    if not found.needed_bytes or not found.counted_operations:
        return text
    with TemporaryDirectory() as folder:
        picture = found.plot(Path(folder) / "roofline.svg").read_text()
    return joined((text, image(picture, f"Roofline of kernel '{kernel.name}'")))


def image(svg: str, caption: str) -> Html:
    """Return a picture that is a document of its own, so that its names are its own, too."""
    data = b64encode(svg.encode()).decode()
    shown = element("img", src=f"data:image/svg+xml;base64,{data}", alt=caption)
    return element("figure", shown, element("figcaption", caption))
