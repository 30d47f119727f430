"""The text of a function as one of Python, and what is seen without running it."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from polygen.ir.tags import GroupTag
from polygen.lower.program import Declare, HostLoop, TensorProduct
from tests.read_back import lanes, values
from tests.read_back.run import Function, compiled
from tests.read_back.subject import Subject
from tests.read_back.text import Reader
from tests.read_back.tokens import WrongText, function_text

_OF_VECTORS: Mapping[str, Any] = {**vars(values), **lanes.NAMES}


def of_text(subject: Subject) -> tuple[Function, Reader]:
    """Return what a text does.

    Raises:
        WrongText: if it cannot mean what the program does.
        NotRead: if the reader does not know what it means.
    """
    expected = subject.expected()
    reader = Reader(function_text(subject.source, subject.name), expected)
    device = subject.made.launches[0] if subject.of is None else subject.of[1]
    passed = [argument.name for argument in device.arguments]
    if subject.program is subject.made.loop_program and passed != list(expected.arguments):
        raise WrongText(f"the host passes {passed}, not {[*expected.arguments]}")
    _check_loops(subject, reader)
    if subject.of is not None:
        _check_group_size(subject)
        _check_launches_before(subject)
        _check_pool(subject, reader)
    names = _OF_VECTORS if reader.has_vectors else vars(values)
    return compiled("text", reader.lines, names), reader


def _check_loops(subject: Subject, reader: Reader) -> None:
    products = [n for n in subject.nodes if isinstance(n, TensorProduct)]
    kept = {n.iname for n in subject.loops if not n.at_once}
    on_cores = {iname for n in products for iname, _, _ in (*n.depths, *n.loops)}
    kept |= on_cores
    kept |= {n.iname for n in subject.nodes if isinstance(n, HostLoop)}
    if reader.loops != kept:
        raise WrongText(f"loops over {sorted(reader.loops)}, not {sorted(kept)}")
    unrolled = {n.iname for n in subject.loops if n.unroll}
    unrolled |= on_cores
    if reader.unrolled != unrolled:
        raise WrongText(f"unrolled: {sorted(reader.unrolled)}, not {sorted(unrolled)}")


def _check_pool(subject: Subject, reader: Reader) -> None:
    """Check that the variables in a group's memory have their places."""
    assert subject.of is not None
    end = subject.of[1].shared_bytes
    sizes = {n.name: _bytes(n) for n in subject.nodes if isinstance(n, Declare)}
    places = sorted((place, name) for name, place in reader.pool.items())
    ends = [*(place for place, _ in places[1:]), end]
    for (place, name), following in zip(places, ends, strict=False):
        if place + sizes[name] > following or place % 16:
            raise WrongText(f"'{name}' does not fit between {place} and {following}")


def _bytes(node: Declare) -> int:
    # Numbers of 16 bits are computed with as float; vectors of three take the place of four.
    is_wide = node.dtype.kind in "fV" and not node.is_short
    size = max(node.dtype.itemsize, 4) if is_wide else node.dtype.itemsize
    return size * (node.extent or 1) * (4 if node.vector == 3 else node.vector or 1)


def _check_launches_before(subject: Subject) -> None:
    """Check that a launch touches nothing before those ahead of it are over."""
    assert subject.of is not None
    text = function_text(subject.source, subject.name)
    before, *after = text.split("pg_after_other_launches();")
    waits = subject.of[1].waits
    if len(after) != waits:
        raise WrongText(f"{len(after)} waits for other launches, not {int(waits)}")
    own = ("__shared__ ", "static const ", "extern ", "pg_", "unsigned char ")
    lines = [line.strip() for line in before.partition("{")[2].splitlines()]
    touched = [line for line in lines if "[" in line and not line.startswith(own)]
    if waits and touched:
        raise WrongText(f"touched before other launches are over: {touched}")


def _check_group_size(subject: Subject) -> None:
    assert subject.of is not None
    launch, device = subject.of
    items = [axis for axis in launch.axes if not isinstance(axis.tag, GroupTag)]
    size = [1, 1, 1]
    for axis in items:
        assert isinstance(axis.size, int)
        size[axis.tag.axis] = axis.size
    before = subject.source[: subject.source.index(f"{launch.name}(")]
    head = before.rstrip().rsplit("\n", 1)[-1]
    bounds = f"reqd_work_group_size({', '.join(map(str, size))})"
    if subject.made.target.name == "cuda":
        bounds = f"__launch_bounds__({prod(size)}"
    given = [*device.local_size, 1, 1, 1][: max(3, len(device.local_size))]
    if bounds not in head or given != size:
        raise WrongText(f"groups of {size}, not {given} and {head}")
