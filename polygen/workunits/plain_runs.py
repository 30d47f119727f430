"""Dispatches as plain Python: the space `Debug`, which knows nothing of kernels.

Work units are executed one index after the other.  In their text, an accumulator is what it holds:
`acc += x` updates ``acc.value``.
"""

from __future__ import annotations

import ast
import copy
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from polygen.errors import SubscriptOutOfBounds
from polygen.python.function_source import read_function
from polygen.workunits.accumulators import Accumulator, AccumulatorType
from polygen.workunits.out_of_bounds import out_of_bounds
from polygen.workunits.policies import (
    MDRangePolicy,
    Policy,
    RangePolicy,
    TeamPolicy,
    TeamThreadMDRange,
    TeamThreadRange,
    ThreadVectorRange,
)
from polygen.workunits.random_pools import CURRENT
from polygen.workunits.signatures import UnitSignature
from polygen.workunits.team_members import Team, TeamMember
from polygen.workunits.translation.lambdas import is_lambda

NestedPolicy: TypeAlias = TeamThreadRange | TeamThreadMDRange


def run_plainly(
    function: Callable[..., Any],
    pattern: str,
    policy: Policy,
    signature: UnitSignature,
    starts: Sequence[Any],
    given: Sequence[Any],
) -> Any:
    """Run a dispatch, and return what is added up: None, a number, or a tuple of numbers.

    Parameters:
        function: the function of the work unit.
        pattern: ``for``, ``reduce`` or ``scan``.
        policy: the policy.
        signature: the parameters of the work unit.
        starts: the numbers that accumulators begin with.
        given: what is passed behind what the policy passes; the object first, of a method.
    """
    owner = list(given[:1]) if signature.owner else []
    others = given[len(owner) :]
    names = [name for name, _ in signature.accumulators]
    if is_lambda(function) and names and not isinstance(policy, TeamPolicy):
        return _run_lambda(
            function, policy, starts, dict(zip(signature.others, others, strict=True))
        )
    is_plain = not names and not any(map(inspect.iscode, function.__code__.co_consts))
    execute = function if is_plain else accumulating(function, frozenset(names))
    held = [Accumulator(start) for start in starts]
    named = dict(zip([*names, *signature.others], [*held, *others], strict=True))
    if pattern == "scan":
        named[signature.last_pass] = True

    def of_member(member: TeamMember) -> None:
        own = (member.team_rank(),) if policy.team_size > 1 else ()  # type: ignore[union-attr]
        index = CURRENT.index = (member.league_rank(), *own)
        try:
            execute(*owner, member, **named)
        except SubscriptOutOfBounds:
            raise
        except IndexError as error:
            shown = ("league_rank", "team_rank")
            raise out_of_bounds(error, function, shown, index) from None

    if isinstance(policy, TeamPolicy):
        _run_teams(policy, of_member)
    else:
        for index in _indices(policy):
            CURRENT.index = index
            try:
                execute(*owner, *index, **named)
            except SubscriptOutOfBounds:
                raise
            except IndexError as error:
                raise out_of_bounds(error, function, signature.indices, index) from None
    values = tuple([one.value for one in held])
    return values[0] if len(values) == 1 else (values or None)


def _run_lambda(
    function: Callable[..., Any],
    policy: RangePolicy | MDRangePolicy,
    starts: Sequence[Any],
    named: dict[str, Any],
) -> Any:
    """Run a lambda of a reduction, which returns what accumulators become."""
    values = tuple(starts)
    for index in _indices(policy):
        CURRENT.index = index
        try:
            found = function(*index, *values, **named)
        except IndexError as error:
            names = function.__code__.co_varnames
            raise out_of_bounds(error, function, names, index) from None
        values = found if len(values) > 1 else (found,)
    return values[0] if len(values) == 1 else values


def _indices(policy: RangePolicy | MDRangePolicy) -> Iterator[tuple[Any, ...]]:
    return itertools.product(*[range(low, high) for low, high in policy.ranges])


def _run_teams(policy: TeamPolicy, execute: Callable[[TeamMember], Any]) -> None:
    for rank in range(policy.league_size):
        if policy.team_size == 1:
            execute(TeamMember(rank, policy.league_size))
            continue
        team = Team(policy.team_size)
        members = [
            TeamMember(rank, policy.league_size, own, team) for own in range(policy.team_size)
        ]
        team.run([partial(execute, member) for member in members])


def run_nested(
    unit: Callable[..., Any], policy: NestedPolicy, arguments: Mapping[str, Any]
) -> None:
    """Execute a nested function for each index of a range of Kokkos' that is this thread's.

    Parameters:
        unit: the function.
        policy: the range.
        arguments: what the dispatch passes by name.
    """
    for index in _own_part(policy):
        unit(*index, **arguments)


def _own_part(policy: NestedPolicy) -> list[tuple[int, ...]]:
    points = list(itertools.product(*[range(low, high) for low, high in policy.ranges]))
    if isinstance(policy, ThreadVectorRange):
        return points
    return [points[at] for at in policy.member.share(len(points))]


def reduce_nested(
    unit: Callable[..., Any],
    policy: NestedPolicy,
    arguments: Mapping[str, Any],
    *,
    is_scan: bool,
) -> Any:
    """Execute a nested function for each index, and return what all threads add up.

    Parameters:
        unit: the function.
        policy: the range.
        arguments: what the dispatch passes by name.
        is_scan: whether the function sees what those before it added up.
    """
    own = policy.member if not isinstance(policy, ThreadVectorRange) else TeamMember()
    start = _start_of(unit)
    if arguments:
        unit = partial(unit, **arguments)
    part = _own_part(policy)
    if not is_scan:
        total = start
        for one in own.together(_accumulated(unit, part, start)):
            total = one if total is start else total + (one - start)
        return total
    # One thread after the other: each begins with the sums of those before it.
    found = own.together((unit, part))
    total = start
    for rank, (other, indices) in enumerate(found):
        del other
        if rank < own.team_rank():
            total = _accumulated(unit, indices, total, last=False)
    _accumulated(unit, part, total, last=True)
    sums = total = start
    for _, indices in found:
        sums = _accumulated(unit, indices, sums, last=False)
    own.together(None)
    return sums


def _accumulated(
    unit: Callable[..., Any],
    indices: Sequence[tuple[int, ...]],
    start: Any,
    last: bool | None = None,
) -> Any:
    if is_lambda(unit):
        for index in indices:
            start = unit(*index, start)
        return start
    held = Accumulator(start)
    for index in indices:
        unit(*index, held, *([] if last is None else [last]))
    return held.value


def _start_of(unit: Callable[..., Any]) -> Any:
    annotations = [getattr(unit, "__annotations__", {}).get(n) for n in _names(unit)]
    declared = [a for a in annotations if isinstance(a, AccumulatorType)]
    return (declared or [AccumulatorType(None)])[0].start


def _names(unit: Callable[..., Any]) -> Sequence[str]:
    names: Sequence[str] = unit.__code__.co_varnames[: unit.__code__.co_argcount]
    return names


_KNOWN: dict[tuple[Any, frozenset[str]], Callable[..., Any]] = {}


def accumulating(function: Callable[..., Any], names: frozenset[str]) -> Callable[..., Any]:
    """Return a function in whose text accumulators are what they hold.

    Parameters:
        function: a function.
        names: its parameters that are accumulators.
    """
    key = function.__code__, names
    if key not in _KNOWN or _KNOWN[key].__closure__ != function.__closure__:
        _KNOWN[key] = _compiled(function, names)
    return _KNOWN[key]


def _compiled(function: Callable[..., Any], names: frozenset[str]) -> Callable[..., Any]:
    source = read_function(function)
    tree = copy.deepcopy(source.tree)
    tree.decorator_list = []
    for parameter in tree.args.args:
        parameter.annotation = None
    tree.body = _Held(names).all_of(tree.body)
    # Closure variables are parameters of a function around it.
    free = function.__code__.co_freevars
    text = f"def around({', '.join(free)}):\n    return {tree.name}"
    module = ast.parse(text)
    around: Any = module.body[0]
    around.body.insert(0, tree)
    ast.fix_missing_locations(module)
    scope: dict[str, Any] = {}
    exec(compile(module, source.file, "exec"), function.__globals__, scope)  # noqa: S102
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    found: Callable[..., Any] = scope["around"](*cells)
    return found


class _Held(ast.NodeTransformer):
    """Replaces accumulators by what they hold, also in nested functions."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def all_of(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return statements with accumulators replaced in all of them."""
        made: list[ast.stmt] = []
        for node in body:
            found: Any = self.visit(node)
            made += found if isinstance(found, list) else [found]
        return made

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id not in self._names:
            return node
        held = ast.Attribute(ast.Name(node.id, ast.Load()), "value", node.ctx)
        return ast.copy_location(held, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Compute what is added first: other threads of a team may add something meanwhile."""
        if not isinstance(node.target, ast.Name) or node.target.id not in self._names:
            return self.generic_visit(node)
        value = ast.copy_location(ast.Name("__added", ast.Store()), node)
        first = ast.copy_location(ast.Assign([value], self.visit(node.value)), node)
        node.target = self.visit(node.target)
        node.value = ast.copy_location(ast.Name("__added", ast.Load()), node)
        return [first, node]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        parameters = {parameter.arg for parameter in node.args.args}
        added = {p.arg for p in node.args.args if _is_accumulator(p.annotation)}
        inside = _Held((self._names - parameters) | added)
        node.body = inside.all_of(node.body)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        names = [name for name in node.names if name not in self._names]
        return ast.copy_location(ast.Nonlocal(names) if names else ast.Pass(), node)


def _is_accumulator(annotation: ast.expr | None) -> bool:
    """Tell whether a parameter is declared as an accumulator: ``pk.Acc[...]``."""
    if not isinstance(annotation, ast.Subscript):
        return False
    kind = annotation.value
    name = kind.attr if isinstance(kind, ast.Attribute) else getattr(kind, "id", "")
    return name == "Acc"
