"""A dispatch as a plain function of loops, which the front end of `pg.jit` compiles.

parallel_reduce(n, yAx, y=y, A=A, x=x)   ->   def yAx(pk_end0, acc, y, A, x):
for i in range(pk_end0):
<the body of the work unit>
return acc
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, cast

from polygen.lazy.shared_arrays import SharedArrays
from polygen.python.function_source import FunctionSource, read_function
from polygen.python.tree_parts import assign, load, loop, placed
from polygen.workunits.policies import Policy, TeamPolicy
from polygen.workunits.signatures import UnitSignature
from polygen.workunits.translation.claims import claims_of
from polygen.workunits.translation.class_objects import without_objects
from polygen.workunits.translation.lambdas import is_lambda, read_lambda
from polygen.workunits.translation.leaving import without_returns
from polygen.workunits.translation.team_names import TeamNames
from polygen.workunits.translation.team_phases import TeamPhases
from polygen.workunits.translation.unit_body import UnitBody


@dataclass(frozen=True)
class Driver:
    """A dispatch as a function of loops.

    Attributes:
        source: the function.
        parameters: its parameters: those of the policy, of accumulators, of the object, others.
        constants: the values of further parameters.
    """

    source: FunctionSource
    parameters: tuple[str, ...]
    constants: Mapping[str, Any]


def driver_of(
    function: Callable[..., Any],
    pattern: str,
    policy: Policy,
    signature: UnitSignature,
    *,
    unsafe: bool,
    shared: SharedArrays | None,
    atomic: Collection[str] = (),
    owner: Any = None,
) -> Driver:
    """Return a dispatch as a function of loops.

    Parameters:
        function: the function of the work unit.
        pattern: ``for``, ``reduce`` or ``scan``.
        policy: the policy; of its bounds counts only whether they are 0.
        signature: the parameters of the work unit.
        unsafe: whether the loops are not claimed to be parallel.
        shared: arguments that share memory; None if there are none.
        atomic: parameters whose updates are all atomic.
        owner: the object whose method the work unit is; None for a function.

    Raises:
        NoSource: if the text of the work unit cannot be had.
        WorkUnitRefused: for what kernels do not have.
        ThreadsPart: if not all threads of a team come to a barrier.
    """
    made = _Maker(_source_of(function, signature), pattern, policy, signature)
    return made.driver(unsafe=unsafe, shared=shared, atomic=atomic, owner=owner)


def _source_of(function: Callable[..., Any], signature: UnitSignature) -> FunctionSource:
    if is_lambda(function):
        names = [name for name, _ in signature.accumulators]
        return read_lambda(cast("FunctionType", function), names)
    return read_function(function)


def bounds_of(policy: Policy) -> tuple[int, ...]:
    """Return what the parameters of a driver are passed for the bounds of a policy."""
    if isinstance(policy, TeamPolicy):
        return (policy.league_size,)
    return tuple([b for low, high in policy.ranges for b in ((low, high) if low else (high,))])


class _Maker:
    def __init__(
        self, source: FunctionSource, pattern: str, policy: Policy, signature: UnitSignature
    ) -> None:
        # Objects are made of attributes before anything else is looked at.
        self._source, self._called = without_objects(source)
        source, self._pattern = self._source, pattern
        self._policy, self._signature = policy, signature
        self._taken = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)}
        self._taken |= {n.arg for n in ast.walk(source.tree) if isinstance(n, ast.arg)}

    def driver(
        self, *, unsafe: bool, shared: SharedArrays | None, atomic: Collection[str], owner: Any
    ) -> Driver:
        team = self._team()
        indices, bounds, parameters = self._indices(team)
        accumulators = [name for name, _ in self._signature.accumulators]
        kind: Any = owner.__class__
        held = (self._signature.owner, kind) if self._signature.owner else None
        told = [*indices, team.team_rank] if team is not None and team.size > 1 else indices
        body = UnitBody(self._source, team, self._taken, atomic=atomic, owner=held, index=told)
        body.constants.update(self._called)
        statements = body.statements(without_returns(copy.deepcopy(self._source.tree.body)))
        if team is not None and team.size > 1:
            statements = TeamPhases(body, team, accumulators).statements(statements)
        tree, outer = self._loops(indices, bounds, statements)
        parameters += [*accumulators, *([self._signature.owner] if held else [])]
        others = [*self._signature.others, *self._signature.captured]
        parameters += shared.parameters(others) if shared else others
        prelude = shared.prelude(others, self._source.tree) if shared else []
        made = [*prelude, *self._before(), tree, *self._returned(accumulators)]
        definition = self._definition([*parameters, *body.constants], made)
        claimed = [] if unsafe or self._pattern == "scan" else self._with_several(outer)
        loops = [*claimed, *([] if unsafe else body.parallel)]
        stated = claims_of(self._source, loops, body.updates)
        source = replace(self._source, tree=definition, stated=stated)
        return Driver(source, tuple(parameters), body.constants)

    def _with_several(self, loops: Sequence[ast.For]) -> list[ast.For]:
        """Return the loops with more than one iteration, of those from the innermost one out."""
        if isinstance(self._policy, TeamPolicy):
            return list(loops) if self._policy.league_size > 1 else []
        ranges = reversed(self._policy.ranges)
        return [one for one, (low, high) in zip(loops, ranges, strict=True) if high - low > 1]

    def _definition(self, parameters: Sequence[str], body: list[ast.stmt]) -> ast.FunctionDef:
        made = copy.copy(self._source.tree)
        made.decorator_list, made.returns = [], None
        given = [placed(ast.arg(name), made) for name in parameters]
        made.args = ast.arguments([], given, None, [], [], None, [])
        made.body = body
        return made

    def _team(self) -> TeamNames | None:
        if not isinstance(self._policy, TeamPolicy):
            return None
        return TeamNames(
            self._signature.member,
            self._name("league_rank"),
            self._name("league_size"),
            self._name("team_rank"),
            self._policy.team_size,
        )

    def _indices(
        self, team: TeamNames | None
    ) -> tuple[list[str], list[tuple[ast.expr, ast.expr]], list[str]]:
        """Return indices, bounds, and the parameters for these."""
        tree = self._source.tree
        zero = placed(ast.Constant(0), tree)
        if isinstance(self._policy, TeamPolicy):
            assert team is not None
            bound = zero, load(team.league_size, tree)
            return [team.league_rank], [bound], [team.league_size]
        bounds: list[tuple[ast.expr, ast.expr]] = []
        parameters: list[str] = []
        for at, (low, _) in enumerate(self._policy.ranges):
            lower: ast.expr = zero
            if low:
                parameters.append(self._name(f"begin{at}"))
                lower = load(parameters[-1], tree)
            parameters.append(self._name(f"end{at}"))
            bounds.append((lower, load(parameters[-1], tree)))
        return list(self._signature.indices), bounds, parameters

    def _name(self, like: str) -> str:
        found = f"pk_{like}"
        while found in self._taken:
            found += "_"
        self._taken.add(found)
        return found

    def _before(self) -> list[ast.stmt]:
        name = self._signature.last_pass
        return [assign(name, ast.Constant(value=True), self._source.tree)] if name else []

    def _loops(
        self,
        indices: Sequence[str],
        bounds: Sequence[tuple[ast.expr, ast.expr]],
        body: list[ast.stmt],
    ) -> tuple[ast.stmt, list[ast.For]]:
        made: list[ast.For] = []
        for name, (lower, upper) in reversed(list(zip(indices, bounds, strict=True))):
            one = loop(name, lower, upper, made[-1:] or body, self._source.tree)
            one.col_offset += len(made)  # claims are found by places: each loop has its own
            made.append(one)
        return made[-1], made

    def _returned(self, names: Sequence[str]) -> list[ast.stmt]:
        if not names:
            return []
        found: list[ast.expr] = [load(name, self._source.tree) for name in names]
        value = found[0] if len(found) == 1 else ast.Tuple(found, ast.Load())
        return [placed(ast.Return(value), self._source.tree)]
