"""The keys of the maps that `polygen.get_op_map` and others return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from constantdict import constantdict

from polygen.analysis.access.strides import multiplied_out
from polygen.errors import InvalidArgument
from polygen.ir.dtype import DType, to_dtype
from polygen.ir.expression import Expression
from polygen.ir.public import public_class
from polygen.ir.show_expression import show_expression
from polygen.source import caller_location


class CountGranularity:
    """For whom something is counted.

    Attributes:
        WORKITEM: once for each work item that does it.
        SUBGROUP: once for each sub-group (a warp, in CUDA) in which some work item does it.
        WORKGROUP: once for each work group in which some work item does it.
    """

    WORKITEM: ClassVar[str] = "workitem"
    SUBGROUP: ClassVar[str] = "subgroup"
    WORKGROUP: ClassVar[str] = "workgroup"
    ALL: ClassVar[tuple[str, ...]] = (WORKITEM, SUBGROUP, WORKGROUP)


def check_granularity(granularity: str | None) -> None:
    """Raise InvalidArgument if this is none of `CountGranularity`."""
    if granularity is not None and granularity not in CountGranularity.ALL:
        raise InvalidArgument(
            f"{granularity!r} is no granularity of counts",
            where=caller_location(),
            remedy="it is 'workitem', 'subgroup' or 'workgroup'",
        )


def _dtype(given: Any) -> DType | None:
    # NumPy takes None for float64.
    return None if given is None else to_dtype(given)


@public_class
@dataclass(frozen=True)
class Op:
    """A kind of arithmetic operation.

    Attributes:
        dtype: the type that it is computed in.
        name: ``add`` (also for ``-``), ``mul``, ``div`` (also for ``//`` and ``%``), ``pow``,
            ``shift``, ``bw`` (bitwise), or ``func:`` and the name of a function: ``func:sin``;
            ``func:min`` and ``func:max`` too.
        count_granularity: for whom it is counted: see `CountGranularity`.
        kernel_name: the kernel in which it is.
    """

    dtype: Any = None  # a DType, or None, once it is made
    name: str | None = None
    count_granularity: str | None = None
    kernel_name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _dtype(self.dtype))
        check_granularity(self.count_granularity)

    def __str__(self) -> str:
        return _shown(self, self.dtype, self.name, self.count_granularity, self.kernel_name)


@public_class
@dataclass(frozen=True)
class MemAccess:
    """A kind of access of memory that work items share.

    Attributes:
        mtype: ``global`` or ``local``.
        dtype: the type of the elements.
        lid_strides: for each axis of the work items along which the element changes, by how many
            elements, when the index of the work item grows by one: an integer, or an expression in
            the sizes, in whatever way it is written; None where that is not the same everywhere.
        gid_strides: the same for the axes of the work groups.
        direction: ``load`` or ``store``.
        variable: the array.
        count_granularity: for whom it is counted: see `CountGranularity`.
        kernel_name: the kernel in which it is.
        lanes: how many neighbours in memory an instruction accesses at once, along an iname tagged
            ``vec``; None where it is one.  Each of them counts.
    """

    mtype: str | None = None
    dtype: Any = None  # a DType, or None, once it is made
    lid_strides: Mapping[int, Expression | None] | None = None
    gid_strides: Mapping[int, Expression | None] | None = None
    direction: str | None = None
    variable: str | None = None
    count_granularity: str | None = None
    kernel_name: str | None = None
    lanes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", _dtype(self.dtype))
        check_granularity(self.count_granularity)
        for name in ("lid_strides", "gid_strides"):
            strides = getattr(self, name)
            if strides is not None:
                object.__setattr__(self, name, constantdict(_normal(strides)))

    def __str__(self) -> str:
        strides = (_strides(self.lid_strides), _strides(self.gid_strides))
        fields = (self.direction, self.variable, self.count_granularity, self.kernel_name)
        lanes = () if self.lanes is None else (f"{self.lanes} lanes",)
        return _shown(self, self.mtype, self.dtype, *strides, *fields, *lanes)


@public_class
@dataclass(frozen=True)
class Sync:
    """A kind of synchronization.

    Attributes:
        kind: ``barrier_local``, at which the work items of a group wait for each other, or
            ``kernel_launch``.
        kernel_name: the kernel in which it is.
    """

    kind: str | None = None
    kernel_name: str | None = None

    def __str__(self) -> str:
        return _shown(self, self.kind, self.kernel_name)


def _normal(strides: Mapping[int, Expression | None]) -> dict[int, Expression | None]:
    """Return strides as they are counted by: ``m*16`` is ``16*m``, and 0 is left out."""
    normal = {
        axis: None if stride is None else multiplied_out(stride) for axis, stride in strides.items()
    }
    return {axis: stride for axis, stride in normal.items() if stride != 0}


def _strides(strides: Mapping[int, Expression | None] | None) -> str:
    if strides is None:
        return "None"
    rows = (
        f"{axis}: {'varies' if stride is None else show_expression(stride)}"
        for axis, stride in sorted(strides.items())
    )
    return f"{{{', '.join(rows)}}}"


def _shown(key: object, *fields: object) -> str:
    return f"{type(key).__name__}({', '.join(map(str, fields))})"
