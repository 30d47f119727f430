"""Accesses: the elements that an instruction reads and writes, as relations.

Two views: a *reference* is what the text says (cheap), an *access* is the same as an isl set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import islpy as isl

from polygen.analysis.access.domains import domain_of, domain_temporaries, homes
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set, to_pw_aff
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.domain import flat_names, intersection, project_out, restricted, universe
from polygen.ir.expression import Expression
from polygen.ir.instruction import (
    Assignment,
    CInstruction,
    Instruction,
    KernelCall,
    MultiAssignment,
    first_element,
)
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import by_parts, per_kernel

# --- references


@dataclass(frozen=True, slots=True)
class Reference:
    """One mention of a variable in an instruction.

    Attributes:
        insn: the instruction.
        name: the variable.
        index: its subscripts; none for a scalar.
        is_write: whether it is written.
        inames: those of the instruction, and of the reductions that it stands in.
        conditions: what must hold for the variable to be touched: the predicates of the
            instruction, the conditions of every ``if(c, a, b)`` that it stands in, and what stands
            before it in ``a and b`` or ``a or b``.  None of them is a conjunction.
        update: the operation, where it is the old or the new value of an atomic update.
        vague: whether it is verbatim C that touches it: any element of an array, unless there are
            subscripts, and perhaps none.
        numbers: names in the subscripts that stand for integers that are not known.
    """

    insn: Instruction
    name: str
    index: tuple[Expression, ...]
    is_write: bool
    inames: frozenset[str]
    conditions: tuple[Expression, ...]
    update: str = ""
    vague: bool = False
    numbers: frozenset[str] = frozenset()


def references(insn: Instruction) -> tuple[Reference, ...]:
    """Return the reads and then the write of an instruction; inames are not mentioned.

    The instruction is one of a kernel whose rules are expanded (`Kernel.expanded`).
    """
    # Instructions do not change, and most are in the kernels of several steps.
    known: tuple[Reference, ...] | None = insn.__dict__.get(_REFERENCES)
    if known is None:
        known = insn.__dict__[_REFERENCES] = _references(insn)
    return known


_REFERENCES = "its references"


def _references(insn: Instruction) -> tuple[Reference, ...]:
    if isinstance(insn, KernelCall):
        return _references_of_call(insn)
    inames = insn.within_inames
    conditions = tuple(part for p in insn.predicates for part in walk.conjuncts(p))
    found: list[Reference] = []
    plain = (p for p in insn.predicates if not walk.reductions(p))
    early = tuple(part for p in plain for part in walk.conjuncts(p))
    for predicate in insn.predicates:
        found += _reads(predicate, insn, inames, (), ())
    vague = isinstance(insn, CInstruction)
    if isinstance(insn, CInstruction):
        for name in sorted(insn.read_variables):
            found.append(Reference(insn, name, (), False, inames, conditions, vague=True))
    if isinstance(insn, MultiAssignment) and insn.commuting:
        return (*found, *_references_of_fetch(insn, conditions, early))
    update = insn.update if isinstance(insn, Assignment) else None
    operation = "" if update is None else update.operation
    if isinstance(insn, CInstruction) and insn.atomicity is not None:
        operation = "verbatim"  # in any order, as it claims
    evaluated = insn.evaluated if update is None else (update.operand, *insn.evaluated[1:])
    for node in evaluated:
        found += _reads(node, insn, inames, conditions, early)
    for is_write in (True,) if update is None else (False, True):
        for target in insn.assignees:
            name, index = ex.name_of(target), ex.index_of(target)
            found.append(
                Reference(insn, name, index, is_write, inames, conditions, operation, vague)
            )
    return tuple(found)


def _references_of_fetch(
    insn: MultiAssignment, conditions: tuple[Expression, ...], early: tuple[Expression, ...]
) -> Iterator[Reference]:
    """Yield those of a fetch that may come in any order: of what it updates, as updates."""
    inames, target = insn.within_inames, insn.updated
    assert target is not None
    own = ex.name_of(target), ex.index_of(target)
    for node in insn.values:
        for found in _reads(node, insn, inames, conditions, early):
            is_old = (found.name, found.index) == own
            yield replace(found, update=insn.commuting) if is_old else found
    for assignee in insn.assignees:
        for node in ex.index_of(assignee):
            yield from _reads(node, insn, inames, conditions, early)
    for assignee in insn.assignees:
        name, index = ex.name_of(assignee), ex.index_of(assignee)
        operation = insn.commuting if assignee is target else ""
        yield Reference(insn, name, index, True, inames, conditions, operation)


def _references_of_call(call: KernelCall) -> tuple[Reference, ...]:
    """Return those of the instructions that a call stands for, its own variables left out."""
    names = call.read_names.union(call.written_names)
    found = [r for part in call.parts for r in references(part) if r.name in names]
    for node in (*call.predicates, *call.evaluated):
        found += _reads(node, call, call.within_inames, (), ())
    return tuple(sorted([replace(r, insn=call) for r in found], key=lambda r: r.is_write))


def evaluated_under(
    node: Expression, conditions: tuple[Expression, ...]
) -> Iterator[tuple[Expression, tuple[Expression, ...]]]:
    """Yield the parts of an expression, each with the conditions under which it is evaluated.

    As in C, the second part of ``a and b`` is only evaluated where the first holds, that of
    ``a or b`` where it does not.  But reductions are computed before any of these is asked.

    Parameters:
        node: the expression.
        conditions: those under which it is evaluated itself.
    """
    if isinstance(node, ex.If):
        refused = ex.LogicalNot(node.condition)
        yield node.condition, conditions
        yield node.then, (*conditions, *walk.conjuncts(node.condition))
        yield node.else_, (*conditions, *walk.conjuncts(refused))
    elif isinstance(node, ex.LogicalAnd | ex.LogicalOr):
        asked = conditions
        for part in node.children:
            yield part, conditions if walk.reductions(part) else asked
            goes_on = part if isinstance(node, ex.LogicalAnd) else ex.LogicalNot(part)
            asked = (*asked, *walk.conjuncts(goes_on))
    else:
        yield from ((part, conditions) for part in walk.parts(node))


def _plain_reads(
    node: Expression,
    insn: Instruction,
    inames: frozenset[str],
    conditions: tuple[Expression, ...],
) -> Iterator[Reference]:
    for access in walk.accesses(node):
        if isinstance(access, ex.Subscript) or access.name not in inames:
            name, index = ex.name_of(access), ex.index_of(access)
            yield Reference(insn, name, index, False, inames, conditions)


# Where the parts of a node are not read at once, in its loops and under its conditions.
_DECIDING = frozenset(
    (ex.If, ex.LogicalAnd, ex.LogicalOr, ex.Reduction, ex.Invocation, ex.SubArrayRef)
)


def _reads(
    node: Expression,
    insn: Instruction,
    inames: frozenset[str],
    conditions: tuple[Expression, ...],
    early: tuple[Expression, ...],
) -> Iterator[Reference]:
    """Yield the reads in an expression.

    Parameters:
        node: the expression.
        insn: the instruction.
        inames: those of the instruction, and of the reductions that the expression stands in.
        conditions: those under which it is evaluated.
        early: those of them under which reductions in it are: a condition that has a reduction
            itself is asked later.
    """
    if walk.classes(node).isdisjoint(_DECIDING):
        yield from _plain_reads(node, insn, inames, conditions)
        return
    if isinstance(node, ex.Invocation):
        raise InternalError(f"what rule '{node.rule}' reads is not seen before it is expanded")
    if isinstance(node, ex.SubArrayRef):
        for part in first_element(node):
            yield from _reads(part, insn, inames, conditions, early)
        return
    if isinstance(node, ex.Subscript):
        index = ex.index_tuple(node)
        yield Reference(insn, ex.name_of(node), index, False, inames, conditions)
        for part in index:
            yield from _reads(part, insn, inames, conditions, early)
        return
    if isinstance(node, ex.Reduction):
        inames, conditions = inames.union(node.inames), early
    late = isinstance(node, ex.If) and bool(walk.reductions(node.condition))
    both = zip(evaluated_under(node, conditions), evaluated_under(node, early), strict=True)
    for (part, known), (_, sure) in both:
        yield from _reads(part, insn, inames, known, early if late else sure)


def evaluated_parts(
    insn: Instruction,
) -> Iterator[tuple[Expression, frozenset[str], tuple[Expression, ...]]]:
    """Yield all that an instruction evaluates, with its inames and conditions, as for references.

    Parameters:
        insn: one of a kernel whose rules are expanded.
    """
    inames = insn.within_inames
    conditions = tuple(part for p in insn.predicates for part in walk.conjuncts(p))
    plain = (p for p in insn.predicates if not walk.reductions(p))
    early = tuple(part for p in plain for part in walk.conjuncts(p))
    for predicate in insn.predicates:
        yield from _evaluated(predicate, inames, (), ())
    for node in (*insn.evaluated, *insn.assignees):
        yield from _evaluated(node, inames, conditions, early)


def _evaluated(
    node: Expression,
    inames: frozenset[str],
    conditions: tuple[Expression, ...],
    early: tuple[Expression, ...],
) -> Iterator[tuple[Expression, frozenset[str], tuple[Expression, ...]]]:
    yield node, inames, conditions
    if isinstance(node, ex.Reduction):
        inames, conditions = inames.union(node.inames), early
    late = isinstance(node, ex.If) and bool(walk.reductions(node.condition))
    both = zip(evaluated_under(node, conditions), evaluated_under(node, early), strict=True)
    for (part, known), (_, sure) in both:
        yield from _evaluated(part, inames, known, early if late else sure)


@per_kernel
def references_by_name(kernel: Kernel) -> Mapping[str, tuple[Reference, ...]]:
    """Return all references of a kernel to each variable, in the order of the instructions."""
    found: dict[str, list[Reference]] = {}
    for insn in kernel.expanded.instructions:
        for reference in references(insn):
            found.setdefault(reference.name, []).append(reference)
    return {name: tuple(refs) for name, refs in found.items()}


# --- accesses


def _rank(kernel: Kernel, name: str) -> int:
    """Return how many axes an array has; one without a shape yet, as many as it has subscripts."""
    if shape := kernel.array(name).shape:
        return len(shape)
    return max([len(r.index) for r in references_by_name(kernel)[name]], default=0)


_Elements: TypeAlias = tuple[isl.Set, bool]  # a relation, and whether it is exact


@dataclass(frozen=True, eq=False)
class Access:
    """The elements of a variable that one reference touches.

    Attributes:
        insn_id: the instruction.
        name: the variable.
        is_write: whether it is written.
        inames: those of the parameters of `relation` that are inames.
        reference: what it says in the text; None for a bound of a loop around the instruction.
        find: finds the elements when they are asked for: often the text says enough.
    """

    insn_id: str
    name: str
    is_write: bool
    inames: frozenset[str]
    reference: Reference | None
    find: Callable[[], _Elements]

    @cached_property
    def _elements(self) -> _Elements:
        return self.find()

    @property
    def relation(self) -> isl.Set:
        """The instances and the elements that they touch, as an isl set.

        Its parameters are inames and the kernel's parameters, its dimensions the subscripts.  A
        point of it says: this instance touches this element.
        """
        return self._elements[0]

    @property
    def exact(self) -> bool:
        """Whether each of these elements is touched for certain.

        If not, the set holds at least all that may be touched: every element along an axis whose
        subscript is not affine, whatever the value of a condition or bound that is not.
        """
        return self._elements[1]


@per_kernel
def touched(kernel: Kernel, insn_id: str) -> Mapping[str, tuple[Access, ...]]:
    """Return the accesses of an instruction by variable, those of inames and sizes left out.

    The bounds of its loops are among what it reads.
    """
    insn = kernel.expanded.instruction(insn_id)
    distinct = {
        (r.name, r.index, r.is_write, r.inames, r.conditions, r.update, r.vague): r
        for r in references(insn)
    }
    found: dict[str, list[Access]] = {}
    for reference in distinct.values():
        if isinstance(kernel.variables.get(reference.name), GlobalArg | TemporaryVariable):
            found.setdefault(reference.name, []).append(access_of(kernel, reference))
    for name in sorted(domain_temporaries(kernel, insn.within_inames | insn.reduction_inames)):
        found.setdefault(name, []).append(_bound(kernel, insn, name))
    return {name: tuple(accesses) for name, accesses in found.items()}


def touched_names(kernel: Kernel, insn_id: str) -> tuple[str, ...]:
    """Return the variables that `touched` has accesses of, in the same order."""
    insn = kernel.expanded.instruction(insn_id)
    known: tuple[str, ...] | None = insn.__dict__.get(_TOUCHED)
    if known is None:
        known = insn.__dict__[_TOUCHED] = tuple(dict.fromkeys(r.name for r in references(insn)))
    variables = kernel.variables
    found = [n for n in known if isinstance(variables.get(n), GlobalArg | TemporaryVariable)]
    if kernel.temporaries:
        bounds = domain_temporaries(kernel, insn.within_inames | insn.reduction_inames)
        found += sorted(bounds.difference(found))
    return tuple(found)


_TOUCHED = "what it touches"


def _bound(kernel: Kernel, insn: Instruction, name: str) -> Access:
    """Return the access of a variable that the bounds of an instruction's loops mention."""

    def find() -> _Elements:
        # How often a bound is read is up to the loops: nobody should count on it.
        return isl.Set.from_params(loop_domain(kernel, insn.within_inames)[0]), False

    return Access(insn.id, name, False, insn.within_inames, None, find)


def access_of(kernel: Kernel, reference: Reference) -> Access:
    """Return the elements that a reference touches."""

    def find() -> _Elements:
        relation, exact = _elements(kernel, reference)
        return relation, exact and not reference.vague

    of = reference
    return Access(of.insn.id, of.name, of.is_write, of.inames, reference, find)


def _elements(kernel: Kernel, reference: Reference) -> _Elements:
    def find() -> _Elements:
        domain, exact = reference_domain(kernel, reference)
        relation, affine = index_set(kernel, reference)
        return restricted(relation, domain), exact and affine

    if reference.vague:  # then the rank of the array counts
        return find()
    inames = reference.inames
    data, known = domain_temporaries(kernel, inames), known_names(kernel, reference)
    parts = (reference.index, inames, reference.conditions, homes(kernel, inames), data, known)
    return by_parts(kernel, (access_of, *parts), find)


def known_names(kernel: Kernel, reference: Reference) -> frozenset[str]:
    """Return the names whose values are those of inames and integer parameters at a reference."""
    return reference.inames | reference.numbers | integer_parameters(kernel)


def reference_domain(kernel: Kernel, reference: Reference) -> tuple[isl.Set, bool]:
    """Return the flat set of values for which a reference is reached, and whether it is exact.

    Where loop bounds are data, or conditions are not affine, it holds all that may be reached.
    """
    domain, exact = loop_domain(kernel, reference.inames)
    for condition in reference.conditions:
        holds = condition_set(condition, known_names(kernel, reference))
        if holds is None:
            exact = False
        else:
            domain = intersection(domain, holds)
    return domain, exact


@per_kernel
def loop_domain(kernel: Kernel, inames: frozenset[str]) -> tuple[isl.Set, bool]:
    """Return the flat set of values of `inames` together, and whether it is exact.

    Where a bound is a temporary, the set holds what is possible for any value of that: a
    temporary changes in the course of a run, and must not be taken for a parameter, which has
    one value in all instances.
    """
    domain = domain_of(kernel, inames)
    mentioned = [
        name
        for name in flat_names(domain)
        if isinstance(kernel.variables.get(name), TemporaryVariable)
    ]
    return project_out(domain, mentioned), not mentioned


def index_set(kernel: Kernel, reference: Reference) -> tuple[isl.Set, bool]:
    """Return the subscripts in terms of inames and parameters, and whether all are affine.

    A subscript that is not may be anything.
    """
    if reference.vague and not reference.index:
        rank = _rank(kernel, reference.name)
        anywhere = [_ANY_INTEGER] * rank
        return reduce(isl.Set.flat_product, anywhere, isl.Set.from_params(universe())), False
    if not reference.index:
        return isl.Set.from_params(universe()), True
    names = known_names(kernel, reference)
    axes: list[isl.Set] = []
    affine = True
    for subscript in reference.index:
        function = to_pw_aff(subscript, names)
        if function is None:
            affine = False
            axes.append(_ANY_INTEGER)
        else:
            axes.append(isl.Set.from_pw_aff(function))
    return reduce(isl.Set.flat_product, axes), affine


def is_affine(kernel: Kernel, reference: Reference) -> bool:
    """Tell whether all subscripts of a reference are affine, as `index_set` does."""
    if reference.vague and not reference.index:
        return False
    names = known_names(kernel, reference)
    return all(
        linear_form(subscript, names) is not None or to_pw_aff(subscript, names) is not None
        for subscript in reference.index
    )


_ANY_INTEGER = isl.Set("{ [x] }")
