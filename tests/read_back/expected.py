"""The interface and the variables that a function of the text is to have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

# The types that a text may have for one: OpenCL has no truth values in memory, C no bfloat16.
AS = {"i": "i", "f": "f", "c": "c", "b": "bi", "h": "if"}


class Parameter(NamedTuple):
    """A parameter of a function: of what kind, and whether it is an array."""

    kind: str
    is_array: bool


@dataclass
class Expected:
    """The interface and the variables that a text is to have.

    Attributes:
        arguments: the parameters by name, in order.
        grid: whether work items run it.
        verbatim: the C of the user's that is in it, and what it writes.
        functions: those of the program that it may call.
        in_parallel: whether several threads may call it.
        parallel: how many loops, from one of a name on, may run on threads together.
        overlapping: the arrays that may overlap others.
        alignments: what arrays begin at a multiple of, if that is known.
        complexes: whether there are complex numbers.
        declared: the kinds of variables that are declared.
    """

    arguments: Mapping[str, Parameter]
    grid: bool
    verbatim: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    in_parallel: bool = False
    parallel: Mapping[str, int] = field(default_factory=dict)
    overlapping: frozenset[str] = frozenset()
    alignments: Mapping[str, int | None] = field(default_factory=dict)
    complexes: bool = False
    declared: Mapping[str, str] = field(default_factory=dict)
