"""Refusing steps that would change what a kernel computes.

A step is proved to keep the meaning of the kernel (`polygen.analysis.rearrangement.legality` says
how), or refused with two instances whose order it breaks.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial

from polygen.analysis.access.data_conditions import with_cases
from polygen.analysis.access.instance_map import UNMOVED, InstanceMap
from polygen.analysis.access.possible_claims import sufficient_claims
from polygen.analysis.dataflow.changed_nests import changed_nests
from polygen.analysis.dataflow.liveness import live_variables
from polygen.analysis.dataflow.permitted_executions import is_permitted, why_none_is_permitted
from polygen.analysis.integers.proving import MOST_FOR_CLAIMS, limited, limited_attempt
from polygen.analysis.order.ignored_priorities import ignores_no_priority
from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.order.reduction_statements import shares_reduction_loops
from polygen.analysis.rearrangement.legality import UNORDERED, Violation, violation
from polygen.analysis.rearrangement.previous_instances import Before
from polygen.analysis.rearrangement.same_instances import difference, not_affine
from polygen.analysis.rearrangement.summation_order import reordered
from polygen.analysis.values.certain_writes import with_choices
from polygen.analysis.values.equivalence import flow_difference
from polygen.analysis.values.sound_accesses import (
    NOTHING,
    Unchanged,
    is_sound,
    keeps_sound,
    note_sound,
    unchanged,
)
from polygen.analysis.values.unaffected_variables import Settled
from polygen.analysis.wellformed.access_order import has_one_nest
from polygen.analysis.wellformed.array_bounds import check_bounds
from polygen.analysis.wellformed.check import (
    check_permitted,
    check_result,
    check_well_formed,
    obligations,
)
from polygen.analysis.wellformed.new_obligations import Added, new_obligation
from polygen.analysis.wellformed.obligations import ORDERED, Obligation
from polygen.errors import (
    CannotProve,
    NestingDecides,
    NewObligation,
    NotTheSame,
    OutOfBounds,
    ProofLimit,
    UninitializedRead,
    UnorderedAccess,
    UserError,
)
from polygen.ir.claims import Claim
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.instruction import identical
from polygen.ir.kernel import Kernel
from polygen.ir.recomputed import DOUBT
from polygen.ir.remembered import tell
from polygen.refusals import (
    add_claims,
    refuse_flow,
    refuse_obligation,
    refuse_order,
    refuse_reassociation,
    refuse_result,
    refuse_start,
)
from polygen.source import caller_location


@dataclass(frozen=True)
class Rearranged:
    """A transformed kernel whose instances have other coordinates.

    Attributes:
        kernel: the new kernel.
        values: what each old iname is in terms of the new ones; those that are not mentioned
            are still there.
        by_instruction: for an instruction (by its id) of which something else is true, what is
            said there instead of `values`.
        ids: for instructions of the kernel before, what they are called in this one.  An
            instruction of this kernel that has their old id is another one.
        restated: where the proof starts, if not at the kernel before: that one with another
            interface, which the step changes on purpose; or what proved steps made of it.
        computes_as: a kernel that computes what this one does by construction, and is compared
            in its place: with the instances of the kernel before, for `values` is not affine; or
            with elements of temporaries that have other names.

    What is left out of the proof by `restated` and `computes_as` is taken on trust, so none but
    polygen's own transformations may give them.
    """

    kernel: Kernel
    values: Mapping[str, Expression] = field(default_factory=new_dict)
    by_instruction: Mapping[str, Mapping[str, Expression]] = field(default_factory=new_dict)
    ids: Mapping[str, str] = field(default_factory=new_dict)
    restated: Kernel | None = None
    computes_as: Kernel | None = None

    @property
    def instances(self) -> InstanceMap:
        """The map from each new instance to the old one that it computes."""
        return InstanceMap(self.values, self.by_instruction)


_SUGGESTS: ContextVar[bool] = ContextVar("whether refusals suggest claims", default=True)


@contextmanager
def without_suggestions() -> Generator[None]:
    """Let refusals name no claims that would allow a step: of trials, nobody reads them.

    To find such claims takes several proofs.
    """
    token = _SUGGESTS.set(False)
    try:
        yield
    finally:
        _SUGGESTS.reset(token)


def prove(step: str, old: Kernel, result: Rearranged) -> None:
    """Prove that a step keeps the meaning of a kernel.

    Parameters:
        step: the name of the transformation.
        old: the kernel before.
        result: the kernel after.

    Raises:
        NotTheSame: if the new instances are not the old ones at other coordinates.
        IllegalStep: if it breaks a dependence.
        CannotProve: if it may break one, by what subscripts or conditions that are data say.
        NewObligation: if it adds accesses of which data decides whether there are such elements.
        IllFormedKernel: if the kernel before is not well formed, and that matters.
        Reassociated: if a sum would be added up in another order, and the kernel forbids that.
        ProofLimit: if isl has more to do than is reasonable.
    """
    new = result.kernel
    if _nothing_moved(old, new):
        return
    if _is_proved_by_nests(step, old, new, result.instances):
        if DOUBT.share:
            whole = partial(_prove, step, old, new, result.instances)
            DOUBT.check((_is_proved_by_nests, step), None, whole)
    else:
        _prove_whole(step, old, new, result.instances)
    if keeps_sound(old, new):
        note_sound(new)


def _prove_whole(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> None:
    try:
        _prove(step, old, new, instances)
    except NewObligation:  # no claim says anything of bounds
        raise
    except CannotProve as error:
        if _SUGGESTS.get():
            add_claims(error, _sufficient(step, old, new, instances))
        raise


def _is_proved_by_nests(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> bool:
    """Tell whether the nests that a step changed show that it keeps the order of instances.

    Nothing is refused here: what is not proved so is looked at as a whole.
    """
    if not is_permitted(old):
        return False
    try:
        with _limited(step, new):
            nests = changed_nests(old, new, instances)
            if nests is None or not _keeps_order(*nests, instances):
                return False
    except UserError:
        return False
    for holds in (is_permitted, has_one_nest, ignores_no_priority):
        if holds(old) and holds(nests[1]):
            tell(new, holds, result=True)
    return True


def _keeps_order(old: Kernel, new: Kernel, instances: InstanceMap) -> bool:
    """Tell whether two kernels have the same instances, in the same order where that matters."""
    if _other_interface(old, new, instances) or not_affine(new, instances):
        return False
    if _leaves_nests_open(old, new) or shares_reduction_loops(old) or shares_reduction_loops(new):
        return False
    if difference(old, new, instances) is not None or violation(old, new, instances) is not None:
        return False
    rounding = not new.options.allow_reassociation
    return reordered(old, new, instances, rounding=rounding) is None


def is_proved(old: Kernel, new: Kernel) -> bool:
    """Tell whether a kernel is proved to compute what another does, by one step.

    That is a step that leaves instances at their coordinates, and instructions under their ids.

    Parameters:
        old: a kernel without calls and rules.
        new: another one, with the same arguments.
    """
    if _nothing_moved(old, new):
        return True
    try:
        _prove("equivalent", old, new, UNMOVED)
    except UserError:
        return False
    return True


def _sufficient(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> list[Claim]:
    """Return claims with which a step can be proved; none, if none are found."""

    def suffices(claims: tuple[Claim, ...]) -> bool:
        before, after = (k.copy(claims=(*k.claims, *claims)) for k in (old, new))
        if is_sound(old):
            note_sound(before)
        try:
            _prove_at_once(step, before, after, instances)
        except ProofLimit:
            raise
        except UserError:
            return False
        return True

    try:
        with limited_attempt(MOST_FOR_CLAIMS):
            return sufficient_claims(new.expanded, suffices)
    except ProofLimit:
        return []


def _prove(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> None:
    try:
        _prove_at_once(step, old, new, instances)
    except CannotProve:
        by_cases = _is_proved_by_cases(step, old, new, instances)
        if not by_cases and not _is_proved_by_choices(step, old, new, instances):
            raise


def _is_proved_by_cases(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> bool:
    """Tell whether a step is right whichever conditions hold that data decides once."""
    both = with_cases(old, new)
    if both is None:
        return False
    try:
        _prove_at_once(step, *both, instances)
        return not _reads_elsewhere(step, old, new, instances)
    except UserError:
        return False


def _is_proved_by_choices(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> bool:
    """Tell whether a step is right where writes that data decides on write what they choose."""
    both = with_choices(old, new)
    if both is None:
        return False
    try:
        with _limited(step, new):
            if any(o.kind == ORDERED for kernel in both for o in obligations(kernel)):
                return False
        _prove_at_once(step, *both, instances)
        return not _reads_elsewhere(step, old, new, instances)
    except UserError:
        return False


def _reads_elsewhere(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> bool:
    """Tell whether accesses may be outside of their arrays that were not made before."""
    with _limited(step, new):
        settled = Settled(old, new, instances)
        wanted = tuple(check_bounds(new, unchanged(old, new, settled)))
        return new_obligation(old, new, instances, settled, wanted) is not None


def _limited(step: str, new: Kernel) -> AbstractContextManager[None]:
    """Bound what isl may do in the proof of a step."""
    return limited(
        new,
        f"{step} could not be proved for kernel '{new.name}'",
        f"if you know that the step is right, {step}(..., unsafe=True) takes it and notes it in "
        "the kernel",
    )


def _prove_at_once(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> None:
    with _limited(step, new):
        _prove_same(step, old, new, instances)
        moved = reordered(old, new, instances, rounding=not new.options.allow_reassociation)
        if moved is not None:
            refuse_reassociation(step, old, new, moved)


def _prove_same(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> None:
    why = _other_interface(old, new, instances) or not_affine(new, instances)
    if why is not None:
        raise NotTheSame(f"{step}: {why}", where=caller_location())
    check_permitted(new)
    if why_none_is_permitted(old) is not None:  # it meant nothing: its instances are to be kept
        _prove_first(step, old, new, instances)
        return
    _check_nests(step, old, new)
    settled = Settled(old, new, instances)
    broken: Violation | None = None
    why = difference(old, new, instances)
    if why is None and not (shares_reduction_loops(old) or shares_reduction_loops(new)):
        broken = _look_at_order(old, new, instances, settled)
        if broken is None:
            return
        if not _may_be_harmless(old, broken):
            refuse_order(step, Before(old, new, instances), broken)
    found = flow_difference(old, new, instances, settled)
    rest = () if found is not None else _left_to_hold(new, unchanged(old, new, settled))
    if broken is not None and (found is not None or isinstance(rest, UserError)):
        refuse_order(step, Before(old, new, instances), broken)
    if found is not None:
        why = why if _have_same_names(old, new) else None
        refuse_flow(step, Before(old, new, instances), found, why)
    if rest:
        _check_start(step, old)
    if isinstance(rest, UserError):
        refuse_result(step, rest)
    _check_added(step, new, new_obligation(old, new, instances, settled, rest))


def _have_same_names(old: Kernel, new: Kernel) -> bool:
    """Tell whether two kernels have the same instructions by name, and the same variables."""
    ids = [[i.id for i in kernel.instructions] for kernel in (old, new)]
    kept = all(new.variables.get(name) == v for name, v in old.variables.items())
    return ids[0] == ids[1] and kept


def _prove_first(step: str, old: Kernel, new: Kernel, instances: InstanceMap) -> None:
    """Prove that a kernel has the instances of one that no loop nest has, and has one result."""
    why = difference(old, new, instances)
    if why is not None:
        raise NotTheSame(f"{step}: {why}", where=caller_location())
    rest = _left_to_hold(new, NOTHING)
    if isinstance(rest, UserError):
        refuse_result(step, rest)


def _check_nests(step: str, old: Kernel, new: Kernel) -> None:
    """Check that nothing depends on which of two loops is outside, if a step leaves that open."""
    if not _leaves_nests_open(old, new):
        return
    _check_start(step, old)
    rest = _left_to_hold(new, NOTHING)
    if isinstance(rest, UserError):
        refuse_result(step, rest)
    known = obligations(old)
    added = (Added(o) for o in rest if o.kind == ORDERED and o not in known)
    _check_added(step, new, next(added, None))


def _leaves_nests_open(old: Kernel, new: Kernel) -> bool:
    """Tell whether nothing decides any more which of two loops is outside."""
    before, after = loops_outside(old), loops_outside(new)
    return before != after and any(
        a in after and a not in after[b] and b not in after[a] and _are_nested(new, a, b)
        for b in before.keys() & after.keys()
        for a in before[b]
    )


def _are_nested(kernel: Kernel, first: str, second: str) -> bool:
    return any(insn.within_inames >= {first, second} for insn in kernel.instructions)


def _check_added(step: str, new: Kernel, added: Added | None) -> None:
    if added is not None:
        refuse_obligation(step, new, added)


def _check_start(step: str, old: Kernel) -> None:
    """Check that the kernel before is well formed: what follows relies on it."""
    try:
        check_well_formed(old)
    except _ILL_FORMED as error:
        refuse_start(step, old, error)


def _left_to_hold(kernel: Kernel, known: Unchanged) -> tuple[Obligation, ...] | UserError:
    """Return what has to hold of the data, or what makes the result depend on chance.

    What the step left as it was in a sound kernel is left out.
    """
    try:
        return check_result(kernel, known)
    except _ILL_FORMED as error:
        return error


_ILL_FORMED = (UnorderedAccess, NestingDecides, UninitializedRead, OutOfBounds)


def _other_interface(old: Kernel, new: Kernel, instances: InstanceMap) -> str | None:
    """Return what the new kernel promises otherwise, or None."""
    if old.assumptions != new.assumptions:
        return "it assumes something else"
    if old.arguments != new.arguments or _other_sizes(old, new):
        return "it has other arguments, or sizes"
    if old.options.allow_reassociation != new.options.allow_reassociation:
        return "it says otherwise whether sums may be added up in another order"
    for name in sorted({n for i in old.instructions for n in instances.of(i.id)}):
        if name not in old.home_domains:
            return f"'{name}' is no iname, and stays what it is"
    for before in old.temporaries:
        after = new.variables.get(before.name)
        if after is not None and before.dtype != after.dtype:
            return f"'{before.name}' has another type"
        if before.read_only and after is not None and before != after:
            return f"'{before.name}' has other elements"
    return None


def _other_sizes(old: Kernel, new: Kernel) -> bool:
    """Tell whether a derived size is another one; further ones may come, and be left out."""
    return any(new.variables.get(size.name, size) != size for size in old.derived_sizes)


def _look_at_order(
    old: Kernel, new: Kernel, instances: InstanceMap, settled: Settled
) -> Violation | None:
    """Sort variables into those whose order is kept, and those whose dataflow has to be looked at.

    Returns the first pair that does not keep its order.
    """
    first: Violation | None = None
    doubted: frozenset[str] = frozenset()
    while (found := violation(old, new, instances, skip=doubted)) is not None:
        if not _may_be_harmless(old, found):
            return found
        first = first or found
        doubted |= {found.name}
    for name in new.variables:
        if name in doubted:
            settled.doubt(name)
        else:
            settled.accept(name)
    return first


def _may_be_harmless(old: Kernel, found: Violation) -> bool:
    """Tell whether two instances may do that without a change of what is computed."""
    if found.now == UNORDERED or found.other_name is not None:
        return False
    return found.certain or found.name not in live_variables(old)


def _nothing_moved(old: Kernel, new: Kernel) -> bool:
    return (
        old.domains == new.domains
        and identical(old.instructions, new.instructions)
        and old.tags == new.tags
        and old.priorities == new.priorities
        and old.assumptions == new.assumptions
        and old.arguments == new.arguments
        and old.temporaries == new.temporaries
        and old.derived_sizes == new.derived_sizes
        and old.options.allow_reassociation == new.options.allow_reassociation
    )
