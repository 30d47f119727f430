"""The loop program: the last form before text.

Statements are nested as in the generated code.  All subscripts are linear, all names are declared,
and nothing in it depends on a target's syntax.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polygen.analysis.typing.kinds import Kind
from polygen.ir.array import Argument, TemporaryVariable
from polygen.ir.dtype import DType
from polygen.ir.empty import new_dict
from polygen.ir.options import Options
from polygen.ir.show import RULE, show_argument, show_temporary
from polygen.lower.loop_nodes import (
    ENDLESS,
    Assign,
    Barrier,
    Block,
    BlocksBegun,
    Call,
    Declare,
    HardwareAxis,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    MatrixLoad,
    Node,
    Shuffle,
    TensorProduct,
    Verbatim,
    Wait,
)
from polygen.lower.program_listing import host_lines

__all__ = [
    "ENDLESS",
    "Assign",
    "Barrier",
    "Block",
    "BlocksBegun",
    "Call",
    "Declare",
    "HardwareAxis",
    "HostLoop",
    "HostNode",
    "If",
    "Launch",
    "LibraryFunction",
    "Loop",
    "LoopProgram",
    "MatrixLoad",
    "Node",
    "Shuffle",
    "TensorProduct",
    "Verbatim",
    "Wait",
]


@dataclass(frozen=True, slots=True)
class LibraryFunction:
    """A function that calls a routine of a numerical library.

    Attributes:
        name: its name.
        arguments: what it takes: sizes, numbers, and arrays with their strides.
        routine: the routine.
        options: what is said to it by words.
        dtype: the type of the elements.
    """

    name: str
    arguments: tuple[Argument, ...]
    routine: str
    options: tuple[tuple[str, str], ...]
    dtype: DType


@dataclass(frozen=True)
class LoopProgram:
    """A lowered kernel.

    Attributes:
        name: the kernel's name.
        arguments: the kernel's arguments, all with types and strides.
        global_temporaries: arrays that the host allocates for the launches.
        host: the launches in order, with the loops around them.
        index_dtype: the type of loop counters and subscripts.
        nonnegative: names that are never negative where they are mentioned; division of what
            is built from them needs no correction.
        dtypes: the kind of every name that an expression may mention: inames and sizes are
            counters.
        options: the kernel's.
        tables: arrays of constants, which all launches see.
        shared_vectors: the arrays of vectors, components of which are written as numbers.
        multiples: names whose values are multiples of a number, where lanes ask for that.
        preambles: what its source begins with: a target, a key and a text each.
        bounding: the temporaries that bound loops.
        functions: what it calls, those first that others call; each is a launch without axes.
        libraries: the functions that call libraries for it.
    """

    name: str
    arguments: tuple[Argument, ...]
    global_temporaries: tuple[TemporaryVariable, ...]
    host: tuple[HostNode, ...]
    index_dtype: DType
    nonnegative: frozenset[str]
    dtypes: Mapping[str, Kind]
    options: Options = field(default_factory=Options)
    tables: tuple[TemporaryVariable, ...] = ()
    shared_vectors: frozenset[str] = frozenset()
    functions: tuple[LoopProgram, ...] = ()
    libraries: tuple[LibraryFunction, ...] = ()
    preambles: tuple[tuple[str, str, str], ...] = ()
    multiples: Mapping[str, int] = field(default_factory=new_dict)
    bounding: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return "\n".join([*(f.text for f in self.functions), self.text])

    @property
    def text(self) -> str:
        """The program without what it calls."""
        sections = [
            ("ARGUMENTS", [show_argument(a) for a in self.arguments]),
            ("GLOBAL TEMPORARIES", [show_temporary(t) for t in self.global_temporaries]),
            ("TABLES", [show_temporary(t) for t in self.tables]),
            ("LAUNCHES", host_lines(self.host)),
        ]
        lines = [RULE, f"LOOP PROGRAM: {self.name}", f"INDEX TYPE: {self.index_dtype.name}"]
        for title, body in sections:
            if body:
                lines += [RULE, f"{title}:", *body]
        return "\n".join([*lines, RULE])
