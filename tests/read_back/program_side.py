"""A loop program, or a launch of it, as a function of Python."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir.array import ValueArg
from polygen.ir.tags import GroupTag
from polygen.lower.program import HardwareAxis
from tests.read_back import values
from tests.read_back.program import Translator, number_text
from tests.read_back.run import Function, compiled
from tests.read_back.subject import Subject, kind_of_variable, parts_of


def of_program(subject: Subject) -> tuple[Function, Function]:
    """Return what a program does, and what gives the sizes of its grid.

    The latter are those that the launch has, by letter and axis, and those that the host is told.

    Raises:
        NotRead: if it has what the reader knows nothing of.
    """
    waits = subject.made.target.copies is not None
    made = Translator(subject.program, grid=subject.of is not None, waits=waits)
    _beginning(made, subject)
    if subject.of is None:
        made.host(subject.program.host)
        return compiled("program", made.lines, vars(values)), _grid(subject)
    launch, _ = subject.of
    for axis in launch.axes:
        for iname, first in axis.inames:
            value = f"run.sizes[{_place(axis)}] + {made.expr(first)}"
            if iname in subject.program.nonnegative:
                value = f"not_negative({value})"
            made.add(f"v_{iname} = {value}")
    made.block(launch.body)
    return compiled("program", made.lines, vars(values)), _grid(subject)


def _beginning(made: Translator, subject: Subject) -> None:
    """Say what the names of arguments and tables stand for."""
    for table in subject.program.tables:
        assert table.initializer is not None
        texts = ", ".join(map(number_text, table.initializer.ravel()))
        kind = table.initializer.dtype.kind
        made.add(f"v_{table.name} = run.table({table.name!r}, {kind!r}, [{texts}])")
    for name in subject.scalars:
        made.add(f"v_{name} = run.sizes[{name!r}]")
    for argument in subject.arguments:
        if isinstance(argument, ValueArg):
            continue
        for each in parts_of(argument):
            made.add(f"v_{each.name} = run.array({each.name!r}, {kind_of_variable(each)!r})")
        for extent in argument.shape or ():
            if isinstance(extent, ex.Sum):
                made.add(f"not_negative({made.expr(extent)})")


def _grid(subject: Subject) -> Function:
    if subject.of is None:
        return compiled("grid", ["  return {}, []"], vars(values))
    made, (launch, device) = Translator(subject.program, grid=False), subject.of
    for name in subject.scalars:
        made.add(f"v_{name} = run.sizes[{name!r}]")
    counts = ", ".join([made.expr(count) for count in device.group_counts])
    entries = ", ".join(f"({_place(axis)}): {made.expr(axis.size)}" for axis in launch.axes)
    made.add(f"return {{{entries}}}, [{counts}]")
    return compiled("grid", made.lines, vars(values))


def _place(axis: HardwareAxis) -> str:
    return f"{'g' if isinstance(axis.tag, GroupTag) else 'l'!r}, {axis.tag.axis}"
