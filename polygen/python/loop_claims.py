"""Claims about loops, from pragmas and `prange`: proved, believed where data decides, or refused.

    #pragma parallel for          proved: the loop carries nothing
    for i in range(n):
        y[i] = x[i]

    #pragma parallel for          refused: iteration i=0 writes the element of y that i=1 reads
    for i in range(1, n):
        y[i] = y[i - 1]

What a call's sizes decide is looked at in each call.  Updates of elements that data chooses become
atomic in such loops, also where nothing says so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, cast

import islpy as isl

from polygen.analysis.dataflow.carried_conditions import ConditionalDependence, carried_conditions
from polygen.analysis.dataflow.dependences import Dependence
from polygen.analysis.integers.isl_affine import to_val
from polygen.analysis.pairs.independence import contradiction
from polygen.errors import ClaimContradicted, PragmaRefused, in_users_words
from polygen.ir.array import TemporaryVariable
from polygen.ir.atomicity import Atomicity, update_of
from polygen.ir.instruction import Assignment, CInstruction
from polygen.ir.kernel import Kernel
from polygen.python.nodes import For, Node, When, While
from polygen.python.pragmas.pragma_data import LoopPragma, Pragma
from polygen.source import SourceLocation, together
from polygen.transforms.kernels.assume_independent import assume_independent
from polygen.transforms.reductions.accumulation_forms import accumulation
from polygen.transforms.reductions.collect_reduction import is_accumulation


@dataclass(frozen=True)
class LoopClaim:
    """A pragma, or `prange`, as a claim about a loop.

    Attributes:
        iname: the loop in the kernel.
        pragma: what is said; a parallel loop for `prange`.
        shown: how it is called in messages.
    """

    iname: str
    pragma: LoopPragma
    shown: str


_Sizes: TypeAlias = Mapping[str, Any]
_Refusal: TypeAlias = tuple[Callable[[_Sizes], bool], Callable[[_Sizes], PragmaRefused]]


@dataclass
class Claims:
    """The claims of a block, and what became of them.

    Attributes:
        kernel: the kernel with what is believed.
        lines: what `explain` says of each.
        refusals: for claims that sizes decide: a condition under which one is wrong, and the error.
    """

    kernel: Kernel
    lines: list[str] = field(default_factory=list[str])
    refusals: list[_Refusal] = field(default_factory=list[_Refusal])

    def check(self, sizes: Mapping[str, Any]) -> None:
        """Check claims for the sizes of a call.

        Raises:
            PragmaRefused: if one is wrong.
        """
        for is_wrong, error in self.refusals:
            if is_wrong(sizes):
                raise error(sizes)


def loop_claims(
    body: Sequence[Node],
    about: Callable[[ast.stmt], Sequence[Pragma]],
) -> Iterator[LoopClaim]:
    """Yield what is claimed of the loops among statements.

    Parameters:
        body: the statements.
        about: returns the pragmas about a statement.
    """
    for node in body:
        if isinstance(node, For) and node.is_written and node.node is not None:
            statement = cast("ast.stmt", node.node)
            for pragma in about(statement):
                if isinstance(pragma, LoopPragma):
                    yield LoopClaim(node.iname, pragma, _shown(pragma))
        if isinstance(node, For | While):
            yield from loop_claims(node.body, about)
        elif isinstance(node, When):
            yield from loop_claims([*node.body, *node.otherwise], about)


def _shown(pragma: LoopPragma) -> str:
    if pragma.is_call:
        return "prange"
    words = ["parallel for"] * pragma.parallel + ["sequential for"] * pragma.sequential
    return " ".join([*words, *["simd"] * pragma.simd])


def claimed(
    kernel: Kernel,
    loops: Sequence[LoopClaim],
    atomic: Collection[tuple[str, int, int]],
    names: Mapping[str, str],
) -> Claims:
    """Return what becomes of the claims about a kernel.

    Parameters:
        kernel: the kernel as the statements say it.
        loops: what is claimed.
        atomic: files, lines and columns of updates that are said to be atomic.
        names: what the user calls the names of the kernel.

    Raises:
        PragmaRefused: if a claim is wrong for all sizes, or a clause does not fit its loop.
    """
    updates = {
        insn.id
        for insn in kernel.instructions
        if (at := insn.location) is not None and (at.file, at.line, at.column) in atomic
    }
    found = Claims(kernel)
    for claim in loops:
        _Claimed(found, claim, updates, names).look()
    _make_atomic(found, updates, loops)
    return found


class _Claimed:
    """One claim, looked at."""

    def __init__(
        self, claims: Claims, claim: LoopClaim, updates: set[str], names: Mapping[str, str]
    ) -> None:
        self._claims, self._claim = claims, claim
        self._kernel = claims.kernel
        self._updates, self._names = updates, names

    def look(self) -> None:
        """Note what becomes of the claim.

        Raises:
            PragmaRefused: if it is wrong for all sizes.
        """
        pragma, iname = self._claim.pragma, self._claim.iname
        self._check_reductions()
        if iname not in self._kernel.numbers_of_loops:
            self._say("nothing is left in the loop")
            return
        if not (pragma.parallel or pragma.simd):
            self._say("its iterations come one after the other")
            return
        if not pragma.parallel and self._prints():
            self._say("its iterations come one after the other: they print")
            return
        carried = carried_conditions(self._kernel)[iname].carried
        left = [c for c in carried if not self._is_allowed(c.dependence)]
        sure = [c for c in left if c.dependence.certain]
        for one in sure:
            if one.when.is_always:
                raise self._refused(one, {})
            self._claims.refusals.append((one.when.predicate, _later(self._refused, one)))
        self._say(self._verdict(left, sure))

    def _prints(self) -> bool:
        """Tell whether the loop has verbatim C, which is what prints in order."""
        numbers = self._kernel.numbers_of_loops[self._claim.iname]
        insns = [self._kernel.instructions[number] for number in numbers]
        return any(isinstance(insn, CInstruction) and insn.atomicity is None for insn in insns)

    def _is_allowed(self, d: Dependence) -> bool:
        """Tell whether a dependence is no reason to refuse: a reduction, say."""
        pragma = self._claim.pragma
        if d.source == d.sink and is_accumulation(self._kernel, d.source, self._claim.iname):
            return True
        if {d.source, d.sink} <= self._updates and self._same_update(d):
            return True
        if d.array in self._sums_of_several:
            return True
        if pragma.simd and not pragma.parallel and d.kind == "anti":
            return True  # all lanes read before any writes
        # A scalar that an iteration writes before it reads it has a copy for each of them.
        return d.kind != "flow" and self._is_scalar(d.array) and not self._passes_on(d.array)

    @cached_property
    def _sums_of_several(self) -> frozenset[str]:
        """Scalars that several updates of the loop add to, and that nothing else in it touches."""
        updates: dict[str, set[str]] = {}
        for number in self._kernel.numbers_of_loops.get(self._claim.iname, ()):
            insn = self._kernel.instructions[number]
            names = {*insn.written_names, *insn.read_names}
            is_sum = is_accumulation(self._kernel, insn.id, self._claim.iname)
            update = accumulation(insn) if is_sum and isinstance(insn, Assignment) else None
            for name in names:
                is_target = update is not None and name in insn.written_names
                operation = update.operation if update is not None and is_target else ""
                updates.setdefault(name, set()).add(operation)
        return frozenset([n for n, kinds in updates.items() if len(kinds) == 1 and "" not in kinds])

    def _is_scalar(self, name: str) -> bool:
        variable = self._kernel.variables[name]
        return isinstance(variable, TemporaryVariable) and not variable.shape

    def _passes_on(self, name: str) -> bool:
        carried = carried_conditions(self._kernel)[self._claim.iname].carried
        return any(c.dependence.kind == "flow" and c.dependence.array == name for c in carried)

    def _same_update(self, d: Dependence) -> bool:
        kinds = set[object]()
        for insn_id in (d.source, d.sink):
            insn = self._kernel.instruction(insn_id)
            found = isinstance(insn, Assignment) and update_of(insn.assignee, insn.expression)
            kinds.add(found.operation if found else None)
        return len(kinds) == 1 and None not in kinds

    # --- clauses

    def _check_reductions(self) -> None:
        for clause in self._claim.pragma.reductions:
            for named in clause.names:
                operations = self._operations(named.name)
                if operations and operations != {clause.operation}:
                    found = " and ".join(sorted(operations))
                    raise PragmaRefused(
                        f"'{named.name}' is no reduction with '{clause.operation}' in this loop: "
                        f"it is updated by '{found}'",
                        where=named.where,
                        remedy="name the operation of the updates; reductions are found without "
                        "a clause",
                    )
                if not operations:
                    raise PragmaRefused(
                        f"'{named.name}' is not reduced into in this loop",
                        where=named.where,
                        remedy="leave the clause out",
                    )

    def _operations(self, name: str) -> set[str]:
        """Return how a variable of the user's is updated in the loop; '=' for an assignment."""
        found = set[str]()
        for number in self._kernel.numbers_of_loops.get(self._claim.iname, ()):
            insn = self._kernel.instructions[number]
            if not isinstance(insn, Assignment):
                continue
            if any(self._names.get(w, w) == name for w in insn.written_names):
                update = accumulation(insn)
                found.add("=" if update is None else update.operation)
        return found

    # --- words

    def _verdict(
        self, left: Sequence[ConditionalDependence], sure: Sequence[ConditionalDependence]
    ) -> str:
        unsure = [c for c in left if not c.dependence.certain]
        unsure = [c for c in unsure if not self._is_update(c.dependence)]
        parts: list[str] = []
        if sure:
            conditions = " or ".join(dict.fromkeys(str(c.when) for c in sure))
            parts.append(f"proved, unless {conditions}")
        if unsure:
            parts.append(f"believed: data decides {self._what_is_open(unsure)}")
            if self._believe(unsure):
                parts.append("a condition alone decides it: iterations stay in order")
        return self._called("; ".join(parts or ["proved"]))

    def _what_is_open(self, unsure: Sequence[ConditionalDependence]) -> str:
        names = list(dict.fromkeys(c.dependence.array for c in unsure))
        arrays = " and ".join(f"'{name}'" for name in names if not self._is_scalar(name))
        scalars = " and ".join(f"'{name}'" for name in names if self._is_scalar(name))
        parts = [f"which elements of {arrays} are touched"] if arrays else []
        parts += [f"whether an iteration reads {scalars} of another"] if scalars else []
        return ", and ".join(parts)

    def _is_update(self, d: Dependence) -> bool:
        """Make an update of elements that data chooses atomic: then it is right in any case."""
        insn = self._kernel.instruction(d.source)
        if d.source != d.sink or not isinstance(insn, Assignment):
            return False
        if update_of(insn.assignee, insn.expression) is None:
            return False
        self._updates.add(d.source)
        return True

    def _believe(self, unsure: Sequence[ConditionalDependence]) -> bool:
        """Let the kernel claim what is believed, where it can say just that.

        Returns:
            Whether something is not: subscripts say which elements are touched, and data only
            whether they are.
        """
        iname, in_order = self._claim.iname, False
        for d in [c.dependence for c in unsure]:
            insn = self._kernel.instruction(d.source)
            if not self._data_chooses(d):
                in_order = True
            elif d.source == d.sink and insn.within_inames == frozenset((iname,)):
                try:
                    self._claims.kernel = assume_independent(
                        self._claims.kernel, d.source, d.source
                    )
                except ClaimContradicted:
                    continue
        return in_order

    def _data_chooses(self, d: Dependence) -> bool:
        """Tell whether subscripts leave a dependence open, and not conditions alone."""
        ends = {d.source, d.sink}
        bare = [
            insn.copy(predicates=()) if insn.id in ends else insn
            for insn in self._kernel.instructions
        ]
        kernel = self._kernel.copy(instructions=tuple(bare))
        return contradiction(kernel.expanded, d.source, d.sink) is None

    def _say(self, what: str) -> None:
        line = self._claim.pragma.where.line
        self._claims.lines.append(f"line {line}: {self._claim.shown}: {what}")

    def _called(self, text: str) -> str:
        return in_users_words(text, self._names)

    def _refused(self, found: ConditionalDependence, sizes: Mapping[str, Any]) -> PragmaRefused:
        d = found.dependence
        point = _two_instances(d, sizes)
        first, second = (
            ", ".join(f"{i}={point[i + mark]}" for i in d.loops if i + mark in point)
            for mark in ("", "'")
        )
        variable = self._kernel.variables[d.array]
        what = (
            f"'{d.array}'"
            if not getattr(variable, "shape", ())
            else (f"the element of '{d.array}'")
        )
        done = {"flow": ("writes", "reads"), "anti": ("reads", "writes"), "output": ("writes",) * 2}
        given = {n: v for n, v in point.items() if n in self._kernel.parameters}
        start = ", ".join(f"{n}={v}" for n, v in given.items())
        text = (
            f"the loop over '{self._claim.iname}' is not parallel: "
            f"{'for ' * bool(start)}{start}{', ' * bool(start)}iteration {first} "
            f"{done[d.kind][0]} {what} that iteration {second} {done[d.kind][1]}"
        )
        places: list[SourceLocation | None] = [self._claim.pragma.where]
        places += [self._kernel.instruction(i).location for i in (d.source, d.sink)]
        return PragmaRefused(
            self._called(text),
            where=together(places),
            remedy="leave the pragma out: what is parallel is found without it; a sum is one if "
            "nothing else reads it in the loop",
        )


def _later(
    make: Callable[[ConditionalDependence, Mapping[str, Any]], PragmaRefused],
    found: ConditionalDependence,
) -> Callable[[_Sizes], PragmaRefused]:
    def error(sizes: _Sizes) -> PragmaRefused:
        return make(found, sizes)

    return error


def _two_instances(d: Dependence, sizes: Mapping[str, Any]) -> dict[str, int]:
    """Return two instances that depend on each other, and the sizes, small ones if these are open.

    The second one's values have a prime.
    """
    relation = d.relation
    param, one, other = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out
    names = [relation.get_dim_name(param, p) or "" for p in range(relation.dim(param))]
    for position, name in enumerate(names):
        if name in sizes:
            relation = relation.fix_val(param, position, to_val(int(sizes[name])))
    point = _small(relation).lexmin().sample_point()
    values = {name: point.get_coordinate_val(param, p).to_python() for p, name in enumerate(names)}
    ends = [relation.get_dim_name(one, p) or "" for p in range(relation.dim(one))]
    ends += [relation.get_dim_name(other, p) or "" for p in range(relation.dim(other))]
    for position, name in enumerate(ends):
        values[name] = point.get_coordinate_val(isl.dim_type.set, position).to_python()
    return values


def _small(relation: isl.Map) -> isl.Set:
    """Return pairs as a set, those with small sizes if there are any."""
    pairs = relation.wrap().flatten()
    for bound in (4, 16):
        near = pairs
        for position in range(pairs.dim(isl.dim_type.param)):
            near = near.upper_bound_val(isl.dim_type.param, position, to_val(bound))
        if not near.is_empty():
            return near
    return pairs


def _make_atomic(claims: Claims, updates: set[str], loops: Sequence[LoopClaim]) -> None:
    """Make the updates atomic that are said to be, in loops that are claimed to be parallel."""
    parallel = {claim.iname for claim in loops if claim.pragma.parallel}
    kernel = claims.kernel
    made = [
        insn.copy(atomicity=Atomicity())
        if insn.id in updates
        and isinstance(insn, Assignment)
        and update_of(insn.assignee, insn.expression) is not None
        and any(
            i in parallel and not is_accumulation(kernel, insn.id, i) for i in insn.within_inames
        )
        else insn
        for insn in kernel.instructions
    ]
    claims.kernel = kernel.copy(instructions=tuple(made))
