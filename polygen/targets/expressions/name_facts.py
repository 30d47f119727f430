"""Facts about the names in expressions, and needs of their text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polygen.analysis.typing.kinds import Kind
from polygen.ir.array import AddressSpace
from polygen.ir.dtype import DType
from polygen.ir.empty import new_dict, new_set
from polygen.ir.expression import Expression


@dataclass(frozen=True, slots=True, order=True)
class VectorHelper:
    """A helper function of vectors.

    Attributes:
        name: of what it does.
        dtype: the name of the type that it is for.
        count: how many components the vectors have.
        operands: the names of the types of the operands' components.
        result: that of the result's.
        function: what it calls for each component; nothing if it computes on whole vectors.
    """

    name: str
    dtype: str
    count: int
    operands: tuple[str, ...]
    result: str
    function: str = ""


@dataclass(slots=True)
class Uses:
    """The needs of printed text: what a source or a function has to begin with.

    Attributes:
        names: the variables that it mentions.
        types: the names of the types that it mentions.
        math: whether it uses mathematical functions or constants.
        helpers: the helper functions that it calls, with the types they are called for.
        preambles: what functions of the user's need, in order.
        vectors: the helper functions of vectors that it calls.
        team: whether threads wait for each other.
        accumulations: the helper functions that accumulate in loops that are told so, with types.
    """

    names: set[str] = field(default_factory=new_set)
    types: set[str] = field(default_factory=new_set)
    math: bool = False
    helpers: set[tuple[str, str]] = field(default_factory=new_set)
    preambles: dict[str, None] = field(default_factory=new_dict)
    vectors: set[VectorHelper] = field(default_factory=new_set)
    accumulations: set[tuple[str, str]] = field(default_factory=new_set)
    team: bool = False

    def add(self, other: Uses) -> None:
        """Add what another function of the source needs; names of variables are its own."""
        self.types |= other.types
        self.math = self.math or other.math
        self.helpers |= other.helpers
        self.preambles |= other.preambles
        self.vectors |= other.vectors
        self.accumulations |= other.accumulations


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice among arrays that the constant subscripts behind an offset make.

    Attributes:
        arrays: the positions of those that choose an array.
        component: the position of the one that chooses a component, or None.
        length: how many components a vector has.
        alone: whether there is one vector, which is declared as such, not as an array.
        space: where the vectors are, if work items share them: then components are written as the
            numbers that they are.
    """

    arrays: tuple[int, ...] = ()
    component: int | None = None
    alone: bool = False
    space: AddressSpace | None = None
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """Facts about the names that expressions mention.

    Attributes:
        kinds: the type that each has for NumPy: that of its elements, or ``int`` for loop
            counters and sizes, which adapt to what they are combined with.
        dtypes: the type with which each is declared; loop counters may be left out.
        index_dtype: the type of loop counters and subscripts.
        nonnegative: those that are never negative.
        stored: the arrays that halves are stored in as such; elsewhere they are floats.
        images: the arrays that are images.
        choices: what constant subscripts choose, for arrays with axes tagged ``vec`` or ``sep``.
        overlapping: for each array, the others that it may overlap.
        extents: sums that are never negative, for they are extents of arguments.
        alignments: for arrays of which it is known, what they begin at a multiple of, in bytes,
            and where they are.
        multiples: names whose values are multiples of a number.
        copied: scalars of which there may be a copy that can take their place.
        bounding: the variables that bound loops.
        wide: vectors of small integers whose components are kept as C computes with them.
    """

    kinds: dict[str, Kind]
    dtypes: dict[str, DType]
    index_dtype: DType
    nonnegative: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    images: frozenset[str] = frozenset()
    choices: Mapping[str, Choice] = field(default_factory=new_dict)
    overlapping: Mapping[str, frozenset[str]] = field(default_factory=new_dict)
    extents: tuple[Expression, ...] = ()
    alignments: Mapping[str, tuple[int, AddressSpace]] = field(default_factory=new_dict)
    multiples: Mapping[str, int] = field(default_factory=new_dict)
    copied: frozenset[str] = frozenset()
    bounding: frozenset[str] = frozenset()
    wide: frozenset[str] = frozenset()
