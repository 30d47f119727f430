"""Names of ``loopy.symbolic``: pymbolic's mappers, for polygen's nodes as well.

Expressions of polygen's are pymbolic's trees; what pymbolic does not know (reductions, invocations
of rules, ...) a mapper without a method for it goes through part by part.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pymbolic import mapper as of_pymbolic
from pymbolic import parse, substitute
from pymbolic.mapper.dependency import DependencyMapper as _DependencyMapper
from pymbolic.mapper.substitutor import SubstitutionMapper as _SubstitutionMapper

from polygen.analysis.typing.functions import conversion_type
from polygen.compat._modules import imported as __getattr__
from polygen.compat._ours import making
from polygen.errors import InvalidArgument
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.dtype import to_dtype
from polygen.source import caller_location

__all__ = [
    "CombineMapper",
    "DependencyMapper",
    "IdentityMapper",
    "LinearSubscript",
    "Reduction",
    "SubArrayRef",
    "SubstitutionMapper",
    "TaggedVariable",
    "TypeCast",
    "UncachedIdentityMapper",
    "UncachedWalkMapper",
    "WalkMapper",
    "__getattr__",
    "get_dependencies",
    "get_reduction_inames",
    "parse",
    "substitute",
]


@making(ex.Reduction)
def Reduction(  # noqa: N802
    operation: Any,
    inames: Any,
    expr: Any,
    allow_simultaneous: bool = False,  # noqa: ARG001
) -> ex.Reduction:
    """Return a reduction: ``sum(inames, expr)``, for an operation that is called ``"sum"``.

    Parameters:
        operation: its name, or an object of ``loopy.library.reduction``.
        inames: a name, a variable, names with commas, or several of these.
        expr: what is reduced: a tree, a number, or a tuple of these.
        allow_simultaneous: nothing depends on it here.
    """
    given = inames.split(",") if isinstance(inames, str) else inames
    each = cast("Iterable[Any]", (given,) if isinstance(given, ex.Variable) else given)
    names = tuple([str(i).strip() for i in each])
    several: Any = expr
    operand = ex.Several(several) if isinstance(expr, tuple) else several
    return ex.Reduction(str(operation), names, operand)


class _Casts(type):
    """Lets ``isinstance`` ask for calls of types."""

    def __instancecheck__(cls, instance: object) -> bool:
        if not isinstance(instance, ex.Call):
            return False
        return conversion_type(ex.name_of(instance.function)) is not None


class TypeCast(metaclass=_Casts):
    """``TypeCast(np.float64, x)``: a value in another type, ``float64(x)``.

    Parameters:
        typename: a type of NumPy's, or its name.
        child: a tree or a number.
    """

    def __new__(cls, typename: Any, child: Any) -> Any:
        """Return the call that stands for it."""
        return ex.converted(to_dtype(typename).name, child)


@making(ex.LinearSubscript)
def LinearSubscript(aggregate: Any, index: Any) -> ex.LinearSubscript:  # noqa: N802
    """Return ``a[[index]]``: an element by where it lies."""
    return ex.LinearSubscript(aggregate, index)


@making(ex.SubArrayRef)
def SubArrayRef(swept_inames: Any, subscript: Any) -> ex.SubArrayRef:  # noqa: N802
    """Return ``[inames]: a[...]``: a part of an array, for calls."""
    is_one = not isinstance(swept_inames, tuple | list)
    several = cast("Iterable[Any]", (swept_inames,) if is_one else swept_inames)
    return ex.SubArrayRef(tuple(map(str, several)), subscript)


class TaggedVariable:
    """``TaggedVariable("f", "t")(x)``: an invocation of a rule with a tag, ``f$t(x)``.

    Parameters:
        name: that of the rule.
        tags: the tag.
    """

    def __init__(self, name: str, tags: Any) -> None:
        several = cast("Iterable[Any]", [tags] if isinstance(tags, str) else tags)
        self.name, self.tags = name, frozenset(map(str, several))

    def __call__(self, *arguments: Any) -> ex.Invocation:
        """Return the invocation."""
        return ex.Invocation(self.name, min(self.tags, default=None), arguments, (), ())

    def __getitem__(self, index: Any) -> Any:
        """Refuse: variables have no tags."""
        raise InvalidArgument(
            f"'{self.name}' is given a tag and the subscript {index}: only rules have tags here",
            where=caller_location(),
            remedy=f'write var("{self.name}")[...]',
        )


class _Rebuilding:
    """Makes a node of what becomes of its parts."""

    rec: Any

    def handle_unsupported_expression(self, expr: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the node with other parts."""
        parts = tuple([self.rec(part, *args, **kwargs) for part in walk.parts(expr)])
        return walk.rebuild(expr, parts)


class _Combining:
    """Combines what becomes of the parts of a node."""

    rec: Any
    combine: Any

    def handle_unsupported_expression(self, expr: Any, *args: Any, **kwargs: Any) -> Any:
        """Return what the parts come to together."""
        return self.combine([self.rec(part, *args, **kwargs) for part in walk.parts(expr)])


class IdentityMapper(_Rebuilding, of_pymbolic.IdentityMapper[Any]):
    """Builds an expression anew: methods such as ``map_variable(self, expr)`` change nodes."""


class SubstitutionMapper(_Rebuilding, _SubstitutionMapper):
    """Puts values in the place of variables: see pymbolic's."""


class CombineMapper(_Combining, of_pymbolic.CombineMapper[Any, Any]):
    """Combines what methods return: see pymbolic's."""


class DependencyMapper(_Combining, _DependencyMapper[Any]):
    """Collects variables and subscripts: see pymbolic's.  What is reduced over is none."""

    def map_reduction(self, expr: ex.Reduction, *args: Any, **kwargs: Any) -> Any:
        """Return what the operand depends on, without inames that are reduced over."""
        inames = {ex.Variable(iname) for iname in expr.inames}
        return self.rec(expr.operand, *args, **kwargs) - inames


class WalkMapper(of_pymbolic.WalkMapper[Any]):
    """Visits all nodes: methods such as ``map_subscript(self, expr)`` look at them."""

    def handle_unsupported_expression(self, expr: Any, *args: Any, **kwargs: Any) -> None:
        """Visit a node, then its parts."""
        if self.visit(expr, *args, **kwargs):
            for part in walk.parts(expr):
                self.rec(part, *args, **kwargs)
            self.post_visit(expr, *args, **kwargs)


UncachedIdentityMapper = IdentityMapper
UncachedWalkMapper = WalkMapper


def get_dependencies(expr: Any) -> frozenset[str]:
    """Return the names of the variables that an expression mentions, functions aside."""
    is_one = not isinstance(expr, tuple | list | set | frozenset)
    several = cast("Iterable[Any]", (expr,) if is_one else expr)
    return frozenset[str]().union(*(walk.free_variables(node) for node in several))


def get_reduction_inames(expr: Any) -> frozenset[str]:
    """Return the inames that reductions in an expression run over."""
    return walk.reduction_inames(expr)
