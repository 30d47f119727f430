"""Arrays and scalars of a kernel: arguments and temporaries."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np

from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.layout import Auto, AxisTag, DimTags
from polygen.ir.public import public_class
from polygen.source import SourceLocation

# What may be given for a shape, strides or a type where a variable is declared.  `make_kernel`
# turns these into what the attributes below say, so that every kernel has only that.
Extents: TypeAlias = str | int | Sequence[str | int | Expression]
Tags: TypeAlias = str | Sequence[str | AxisTag]


class AddressSpace(enum.Enum):
    """The scope of a variable: a work item, a work group, or the whole device.

    A temporary that is declared ``AUTO`` is in one of the three: see `polygen.address_spaces`.
    """

    PRIVATE = "private"
    LOCAL = "local"
    GLOBAL = "global"
    AUTO = "auto"


class _ByValue:
    """Equality and hash of variables.

    Those of dataclasses will not do: NumPy says that float64 equals None, so a variable of that
    type would equal one without a type.
    """

    __slots__ = ()

    def _value(self) -> tuple[Any, ...]:
        kind: Any = type(self)  # a dataclass; slots are those of one class alone
        return tuple([_comparable(getattr(self, name)) for name in kind.__match_args__])

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, _ByValue) or type(self) is not type(other):
            return NotImplemented
        kind: Any = type(self)
        values = ((getattr(self, name), getattr(other, name)) for name in kind.__match_args__)
        return all(a is b or _comparable(a) == _comparable(b) for a, b in values)

    def __hash__(self) -> int:
        return hash(self._value())


def _comparable(value: object) -> object:
    if isinstance(value, np.dtype):
        return value.str
    if is_array(value):  # bit by bit: -0.0 is another number than 0.0
        return value.dtype.str, value.shape, value.tobytes()
    return value


def is_array(value: object) -> TypeGuard[np.ndarray[Any, Any]]:
    """Tell whether something is an array of NumPy's."""
    return isinstance(value, np.ndarray)


@public_class
@dataclass(frozen=True, slots=True, eq=False)
class GlobalArg(_ByValue):
    """An array that the caller passes, in the device's memory.

    Attributes:
        name: how instructions call it.
        dtype: the type of its elements; None until it is inferred or found at the call.
        shape: the extent of each axis, in elements, in terms of the kernel's parameters.
            None only while a kernel is being made.
        dim_tags: where elements lie, a tag for each axis: see `polygen.ir.layout`.  None says that
            nothing was declared: generated source is row-major, and a call adapts to the
            strides of the array that it is given.
        offset: where the first element lies, in elements from where the array begins; `auto` makes
            it an argument of the generated function.
        dim_names: a name for each axis, or None.
        strides: another way to declare `dim_tags`; None in a kernel.
        order: another way to declare `dim_tags`: ``"C"`` or ``"F"``; None in a kernel.
        alignment: a power of two: the memory that generated functions are passed begins at a
            multiple of so many bytes.  None for what the type of its elements needs.
        may_alias: whether it may overlap other arguments.
        location: where the user declared it, if that is known; not part of its value.

    Where one is declared for `polygen.make_kernel`, the type may be anything that NumPy takes for
    one, and shape and strides a text such as ``"n, 2*m"``, a number, or a sequence of these:
    ``GlobalArg("a", np.float32, "n, m", strides="1, n")`` is column-major, as
    ``GlobalArg("a", np.float32, "n, m", dim_tags="N0, N1")`` is.  What tags there are, stands in
    docs/reference/arrays.md.
    """

    name: str
    dtype: DType | None = None
    shape: tuple[Expression, ...] | None = None
    dim_tags: DimTags | None = None
    offset: Expression | Auto = 0
    dim_names: tuple[str, ...] | None = None
    strides: tuple[Expression, ...] | None = None
    order: str | None = None
    alignment: int | None = None
    may_alias: bool = False
    location: SourceLocation | None = field(default=None, kw_only=True, compare=False, repr=False)

    if TYPE_CHECKING:

        def __init__(  # noqa: PLR0913, PLR0917  (as many, and in the same order, as Loo.py has)
            self,
            name: str,
            dtype: object = None,
            shape: Extents | None = None,
            dim_tags: Tags | None = None,
            offset: str | int | Expression | Auto = 0,
            dim_names: str | Sequence[str] | None = None,
            strides: Extents | Auto | Sequence[str | int | Expression | Auto] | None = None,
            order: str | None = None,
            alignment: int | None = None,
            may_alias: bool = False,
            *,
            location: SourceLocation | None = None,
        ) -> None: ...


class ConstantArg(GlobalArg):
    """An array that the caller passes, and that instructions may not write to.

    OpenCL has a memory of its own for it, ``__constant``, whose size is limited.  Its attributes
    are those of `GlobalArg`; it never overlaps what is written.
    """

    __slots__ = ()


class ImageArg(GlobalArg):
    """An array of two or three axes that the caller passes as an image, and that is only read.

    ``img[i, j]`` is the element in row ``i`` and column ``j``: no filter, no coordinates in
    between.  Of the attributes of `GlobalArg`, it has a name, a type and a shape.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(
            self, name: str, dtype: object = None, shape: Extents | None = None
        ) -> None: ...


@public_class
@dataclass(frozen=True, slots=True, eq=False)
class ValueArg(_ByValue):
    """A scalar that the caller passes, or that is found from the shapes of the arrays.

    Attributes:
        name: how domains and instructions call it.
        dtype: its type; None until it is inferred: a size gets the type of the indices.
        location: where the user declared it, if that is known; not part of its value.
    """

    name: str
    dtype: DType | None = None
    location: SourceLocation | None = field(default=None, kw_only=True, compare=False, repr=False)

    if TYPE_CHECKING:

        def __init__(
            self, name: str, dtype: object = None, *, location: SourceLocation | None = None
        ) -> None: ...


@public_class
@dataclass(frozen=True, slots=True, eq=False)
class TemporaryVariable(_ByValue):
    """A variable that lives while the kernel runs.

    Attributes:
        name: how instructions call it.
        dtype: the type of its elements; None until it is inferred.
        shape: the extent of each axis, in elements: constants, and of one that is global, also in
            terms of the kernel's parameters.  A scalar has none.
        address_space: who shares it.  ``AUTO``, for which `polygen.auto` may be given, is what
            suits: see `polygen.address_spaces`.
        dim_tags: where elements lie, as for `GlobalArg`; None for one that is row-major.
        dim_names: a name for each axis, or None.
        strides: another way to declare `dim_tags`; None in a kernel.
        order: another way to declare `dim_tags`: ``"C"`` or ``"F"``; None in a kernel.
        alignment: a power of two: it begins at a multiple of so many bytes.
        initializer: the elements of a table of constants, which is part of the generated code;
            else None.  All share a table.
        read_only: whether it is such a table: instructions may not write to it.
        shuffled: whether a local array, each element of which one work item writes, may be in
            these work items' registers, where others of their sub-group read it: on a target that
            has such reads, if all other accesses are such; else it is in local memory.
        base_storage: a name that temporaries have in common which may share storage, once a step
            proves that they can (`polygen.alias_temporaries`); until then, each has its own.
        location: where the user declared it, if that is known; not part of its value.

    Where one is declared for `polygen.make_kernel`, type and shape are those of the initializer:
    ``TemporaryVariable("w", initializer=np.array([1.0, 2.0]), read_only=True)``.  If it is not
    read-only, these are its values at the start, which an instruction of the kernel gives it.
    """

    name: str
    dtype: DType | None = None
    shape: tuple[Expression, ...] = ()
    address_space: AddressSpace = AddressSpace.PRIVATE
    dim_tags: DimTags | None = None
    dim_names: tuple[str, ...] | None = None
    strides: tuple[Expression, ...] | None = None
    order: str | None = None
    alignment: int | None = None
    initializer: np.ndarray[Any, Any] | None = None
    read_only: bool = False
    shuffled: bool = False
    base_storage: str | None = None
    location: SourceLocation | None = field(default=None, kw_only=True, compare=False, repr=False)

    def as_argument(self) -> GlobalArg:
        """Return it as generated functions see one that is global: as an array that is passed."""
        tags, alignment = self.dim_tags, self.alignment
        return GlobalArg(self.name, self.dtype, self.shape, tags, alignment=alignment)

    def in_space(self, space: AddressSpace) -> TemporaryVariable:
        """Return the variable in an address space; itself if it is there."""
        return self if space is self.address_space else replace(self, address_space=space)

    if TYPE_CHECKING:

        def __init__(  # noqa: PLR0913, PLR0917  (as many, and in the same order, as Loo.py has)
            self,
            name: str,
            dtype: object = None,
            shape: Extents = (),
            address_space: AddressSpace | Auto = AddressSpace.PRIVATE,
            dim_tags: Tags | None = None,
            dim_names: str | Sequence[str] | None = None,
            strides: Extents | None = None,
            order: str | None = None,
            alignment: int | None = None,
            initializer: np.ndarray[Any, Any] | np.generic | None = None,
            read_only: bool = False,
            shuffled: bool = False,
            base_storage: str | None = None,
            *,
            location: SourceLocation | None = None,
        ) -> None: ...


Argument: TypeAlias = GlobalArg | ValueArg
Array: TypeAlias = GlobalArg | TemporaryVariable
