"""A function of a source, and what it is printed from."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Argument, GlobalArg, ValueArg
from polygen.ir.layout import vector_length
from polygen.ir.parts import parts
from polygen.lower.program import (
    Assign,
    Barrier,
    Call,
    Declare,
    HostLoop,
    If,
    Launch,
    Loop,
    LoopProgram,
    Shuffle,
    Verbatim,
)
from polygen.targets.programs.program import DeviceFunction, Program
from tests.read_back.expected import Expected, Parameter
from tests.read_back.tokens import NotRead, WrongText

_KINDS = {"u": "i", "V": "h"}


def kind_of_variable(variable: Any) -> str:
    """Return of what kind the numbers of a variable are: the letter that `values.CONVERT` knows."""
    kind: str = variable.dtype.kind
    return _KINDS.get(kind, kind)


def parts_of(argument: Argument) -> tuple[Argument, ...]:
    """Return what is passed for an argument."""
    return parts(argument) if isinstance(argument, GlobalArg) else (argument,)


def _nodes(block: Iterable[Any]) -> Iterator[Any]:
    for node in block:
        yield node
        if isinstance(node, Loop | If | HostLoop | Launch):
            yield from _nodes(node.body)


def _verbatim_in(program: LoopProgram) -> list[Verbatim]:
    programs = (program, *program.functions)
    found = [n for p in programs for n in _nodes(p.host) if isinstance(n, Verbatim)]
    return list({node.code.strip(): node for node in found}.values())


def with_marks(source: str, program: LoopProgram) -> str:
    """Return a source with calls in the place of C of the user's."""
    for number, node in enumerate(_verbatim_in(program)):
        first, *others = textwrap.dedent(node.code).strip("\n").split("\n")
        rest = "".join(rf"\n(?:\1)?{re.escape(line)}" for line in others)
        given = ", ".join(map(str, (number, *(name for name, _ in node.names))))
        mark = rf"\n\1pg_verbatim({given});\n"
        source, count = re.subn(rf"\n( *){re.escape(first)}{rest}\n", mark, source)
        if not count:
            raise WrongText(f"there is no {node.code!r}")
    return source


class Subject:
    """A function of a source, and what it is printed from.

    Parameters:
        made: the program.
        program: its loop program, or that of a function that it calls.
        of: the launch that the function is for, with what the host knows of it, if it is for one.
        name: the function's name.
        source: the text.

    Attributes:
        arguments: what the function is given.
        scalars: the kinds of the numbers that are known when it is called.
        nodes: all statements.
    """

    def __init__(
        self,
        made: Program,
        program: LoopProgram,
        of: tuple[Launch, DeviceFunction] | None,
        name: str,
        source: str,
    ) -> None:
        self.made, self.program, self.of = made, program, of
        self.name, self.source = name, source
        temporaries = [t.as_argument() for t in program.global_temporaries]
        self.arguments = of[0].arguments if of else (*program.arguments, *temporaries)
        every = (*program.arguments, *self.arguments)
        self.scalars = {a.name: kind_of_variable(a) for a in every if isinstance(a, ValueArg)}
        self.nodes = list(_nodes([of[0]] if of else program.host))
        self.loops = [n for n in self.nodes if isinstance(n, Loop)]

    def expected(self) -> Expected:
        """Return what the text is to be about."""
        passed = [part for a in self.arguments for part in parts_of(a)]
        arrays = [a for a in passed if isinstance(a, GlobalArg)]
        declared = [n for n in self.nodes if isinstance(n, Declare | Shuffle)]
        kinds = {n.name: kind_of_variable(n) for n in declared}
        parameters = {a.name: Parameter(kind_of_variable(a), a in arrays) for a in passed}
        complexes = "c" in {*kinds.values(), *(p.kind for p in parameters.values())}
        of_two = 2 in map(vector_length, arrays) or any(
            n.at_once and n.upper == 2 for n in self.loops
        )
        if complexes and of_two and self.made.target.name == "opencl":
            raise NotRead("vectors of two beside complex numbers: both are 'float2'")
        return Expected(
            arguments=parameters,
            grid=self.of is not None,
            verbatim=[(n.code.strip(), n.writes) for n in _verbatim_in(self.made.loop_program)],
            functions={n.function: n.writes for n in self.nodes if isinstance(n, Call)},
            in_parallel=self.program is not self.made.loop_program,
            parallel={
                n.iname: max(m.parallel for m in self.loops if m.iname == n.iname)
                for n in self.loops
            },
            alignments={a.name: a.alignment for a in arrays},
            declared=kinds,
            complexes=complexes,
            overlapping=self._overlapping() | self._exchanged(),
        )

    def _overlapping(self) -> frozenset[str]:
        """Return the arrays that may overlap others: any, if one may overlap any."""
        arrays = [a for a in self.arguments if isinstance(a, GlobalArg)]
        if not any(a.may_alias for a in arrays):
            return frozenset()
        own = {t.name for t in self.program.global_temporaries}
        return frozenset(a.name for a in arrays) - own

    def _exchanged(self) -> frozenset[str]:
        """Return the arrays by which work items tell each other something."""
        waits = [n for n in self.nodes if isinstance(n, Barrier)]
        if not any(AddressSpace.GLOBAL in wait.address_spaces for wait in waits):
            return frozenset()
        pairs = [pair for n in self.nodes if isinstance(n, Assign) for pair in n.pairs]
        read = [e for target, value in pairs for e in (value, *ex.index_of(target))]
        read += [n.condition for n in self.nodes if isinstance(n, If)]
        names = frozenset().union(*map(walk.free_variables, read))
        return names & frozenset(ex.name_of(target) for target, _ in pairs)
