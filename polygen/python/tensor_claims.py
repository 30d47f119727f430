"""Claims about array statements: the slices of a pragma are those of its statement, and reduced so.

    #pragma :M=>parallel,:N=>reduce(sum:y)
    y[:M] = mv(A[:M, :N], x[:N])

Elements that are assigned are independent of each other, as in NumPy: so a slice of what is
assigned is parallel, and one that is not is reduced.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polygen.errors import MisplacedPragma, PragmaRefused
from polygen.python.liveness import stores
from polygen.python.pragmas.pragma_data import Dimension, Pragma, TensorPragma
from polygen.python.pragmas.pragma_places import Position

# The functions, methods and operators that reduce with an operation.
_REDUCES: Mapping[str, frozenset[str]] = {
    "sum": frozenset(("sum", "mv", "dot", "matmul", "mean", "vdot", "inner", "@", "einsum")),
    "product": frozenset(("prod",)),
    "max": frozenset(("max", "amax", "maximum")),
    "min": frozenset(("min", "amin", "minimum")),
    "any": frozenset(("any",)),
    "all": frozenset(("all",)),
}


@dataclass(frozen=True)
class LengthLimit:
    """The clause ``le(16)`` of a slice whose length the arguments of a call tell.

    Attributes:
        count: the length, as Python.
        dimension: what is said of the slice.
        most: how long it may be.
    """

    count: str
    dimension: Dimension
    most: int

    def check(self, extent: int) -> None:
        """Check the length in a call.

        Raises:
            PragmaRefused: if the slice is longer.
        """
        if extent > self.most:
            raise PragmaRefused(
                f"'{self.dimension.slice}' has {extent} elements in this call, and "
                f"le({self.most}) says that there are fewer",
                where=self.dimension.where,
                remedy=f"write le({extent}), or leave it out",
            )


@dataclass
class TensorClaims:
    """The claims about the array statements of a block.

    Attributes:
        lines: what `explain` says of each.
        limits: what is checked in each call.
    """

    lines: list[str] = field(default_factory=list[str])
    limits: list[LengthLimit] = field(default_factory=list[LengthLimit])


def tensor_claims(
    body: Sequence[ast.stmt],
    pragmas: Mapping[Position, Sequence[Pragma]],
    names: Mapping[str, Any],
) -> TensorClaims:
    """Return what becomes of the pragmas before array statements.

    Parameters:
        body: statements of a function, with what is in them.
        pragmas: those of the function, by place.
        names: what names stand for as the block begins, to see how long slices are.

    Raises:
        MisplacedPragma: if a statement does not have a slice.
        PragmaRefused: if a slice is reduced, or longer, otherwise than a pragma says.
    """
    found = TensorClaims()
    assigned = stores(list(body))
    fixed = {name: value for name, value in names.items() if name not in assigned}
    for outer in body:
        for node in ast.walk(outer):
            if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                continue
            for pragma in pragmas.get((node.lineno, node.col_offset), ()):
                if isinstance(pragma, TensorPragma):
                    _check(found, pragma, node, fixed)
    return found


def _check(
    claims: TensorClaims,
    pragma: TensorPragma,
    node: ast.Assign | ast.AugAssign | ast.AnnAssign,
    names: Mapping[str, Any],
) -> None:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    assigned = {part for target in targets for part in _slices(target)}
    mentioned = assigned | set(_slices(node))
    bases = {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    for dimension in pragma.dimensions:
        bounds = (dimension.lower, dimension.upper, dimension.step)
        if bounds not in mentioned:
            raise MisplacedPragma(
                f"the statement has no slice '{dimension.slice}'",
                where=dimension.where,
                remedy=f"it has {_listed(sorted(mentioned))}: name one as the statement does",
            )
        if dimension.reduction is None:
            _check_assigned(dimension, is_assigned=bounds in assigned)
        else:
            _check_reduced(dimension, node, bases, is_assigned=bounds in assigned)
        limit = _limit(dimension, names)
        said = "proved" if dimension.at_most is None else f"at most {dimension.at_most}: "
        if limit is not None:
            claims.limits.append(limit)
            said += "checked in each call"
        elif dimension.at_most is not None:
            said += "believed"
        claims.lines.append(f"line {pragma.where.line}: {dimension.slice}: {said}")


def _listed(bounds: Sequence[tuple[str, str, str]]) -> str:
    shown = [f"'{'' if low == '0' else low}:{high}'" for low, high, _ in bounds]
    return " and ".join(shown) or "no slices with an end"


def _slices(node: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Yield the slices in a tree that have an end, in a normal form."""
    for part in ast.walk(node):
        if isinstance(part, ast.Slice) and part.upper is not None:
            yield (
                "0" if part.lower is None else ast.unparse(part.lower),
                ast.unparse(part.upper),
                "1" if part.step is None else ast.unparse(part.step),
            )


def _check_assigned(dimension: Dimension, *, is_assigned: bool) -> None:
    if (dimension.parallel or dimension.simd) and not is_assigned:
        raise PragmaRefused(
            f"'{dimension.slice}' is no slice of what is assigned: all of it goes into one element",
            where=dimension.where,
            remedy=f"say how: '{dimension.slice}=>reduce(sum:...)'",
        )


def _check_reduced(
    dimension: Dimension, node: ast.AST, bases: set[str], *, is_assigned: bool
) -> None:
    if is_assigned:
        raise PragmaRefused(
            f"'{dimension.slice}' is a slice of what is assigned: it is not reduced",
            where=dimension.where,
            remedy=f"say '{dimension.slice}=>parallel'",
        )
    target = dimension.target
    if target is not None and target.name not in bases:
        raise PragmaRefused(
            f"the statement does not assign to '{target.name}'",
            where=target.where,
            remedy=f"name what it assigns to: {' or '.join(sorted(bases))}",
        )
    known = _REDUCES.get(dimension.reduction or "", frozenset())
    if known and known.isdisjoint(_functions(node)):
        raise PragmaRefused(
            f"nothing in the statement reduces '{dimension.slice}' with '{dimension.reduction}'",
            where=dimension.where,
            remedy="name the operation that the statement has",
        )


def _functions(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            yield getattr(part.func, "attr", getattr(part.func, "id", ""))
        elif isinstance(part, ast.MatMult):
            yield "@"


def _limit(dimension: Dimension, names: Mapping[str, Any]) -> LengthLimit | None:
    """Return what a call is to check of ``le(n)``; None if it cannot, or nothing is said.

    Raises:
        PragmaRefused: if the slice is longer.
    """
    if dimension.at_most is None:
        return None
    count = f"({dimension.upper}) - ({dimension.lower})"
    try:
        extent = eval(count, {"__builtins__": {}}, dict(names))  # noqa: S307  (the user's own text)
    except (NameError, TypeError, AttributeError, IndexError):
        return None
    if not isinstance(extent, int):
        return None
    limit = LengthLimit(count, dimension, dimension.at_most)
    limit.check(extent)
    return limit
