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

from polygen.compat._modules import imported as __getattr__
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Reduction

__all__ = [
    "CombineMapper",
    "DependencyMapper",
    "IdentityMapper",
    "Reduction",
    "SubstitutionMapper",
    "UncachedIdentityMapper",
    "UncachedWalkMapper",
    "WalkMapper",
    "__getattr__",
    "get_dependencies",
    "get_reduction_inames",
    "parse",
    "substitute",
]


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

    def map_reduction(self, expr: Reduction, *args: Any, **kwargs: Any) -> Any:
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
