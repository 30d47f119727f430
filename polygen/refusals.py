"""Errors for steps that are refused, and their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from polygen.analysis.dataflow.computed_difference import END, At, Difference
from polygen.analysis.integers.instance_wording import call_and_places
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.pairs.automatic_spaces import reason
from polygen.analysis.pairs.instance_pairs import could_claim
from polygen.analysis.rearrangement.legality import (
    MERGED,
    REVERSED,
    SEPARATED,
    UNORDERED,
    Violation,
)
from polygen.analysis.rearrangement.previous_instances import Before
from polygen.analysis.rearrangement.summation_order import Reordered
from polygen.analysis.wellformed.new_obligations import Added
from polygen.analysis.wellformed.obligations import ORDERED
from polygen.errors import (
    CannotProve,
    IllegalStep,
    NewObligation,
    NotTheSame,
    Reassociated,
    UserError,
)
from polygen.ir.claims import Claim
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import facts_of, name_of
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt
from polygen.source import caller_location


def refuse_order(step: str, before: Before, found: Violation) -> NoReturn:
    """Raise the error that says which two instances lose their order."""
    kernel = before.new
    pair = _pair_before(before, found)
    if pair is not None:
        kernel = before.old
    marked = excerpt(kernel, found.first, found.second)
    story = _story(before, found, pair)
    if not found.certain:
        error = CannotProve(
            f"{step} cannot be shown to keep what kernel '{kernel.name}' computes: {_doubt(found)}."
            f" It may be that, {story}",
            where=call_and_places(kernel, found.first, found.second),
            excerpt=marked,
            remedy=f"{_claim(before, found)}if you know that this is not so, {step}(..., "
            "unsafe=True) takes the step and notes it in the kernel",
        )
        error.data_decides = found.other_name is None
        raise error
    raise IllegalStep(
        f"{step} would change what kernel '{kernel.name}' computes: {story}",
        where=call_and_places(kernel, found.first, found.second),
        excerpt=marked,
        remedy=f"{_claim(before, found)}{_REMEDIES[found.now]}",
    )


def _claim(before: Before, found: Violation) -> str:
    """Return what could be claimed of two updates that return old values; else nothing."""
    names = could_claim(before.new, (found.first, found.second), found.name)
    if not names or found.now in (SEPARATED, MERGED):
        return ""
    said = " and ".join(f"'{name}'" for name in names)
    return (
        f"if old values may come in any order, claim that: {{atomic=any_order}} with {said}; else, "
    )


def _pair_before(before: Before, found: Violation) -> tuple[str, str] | None:
    """Return two instances as they were, if their names would mislead; None otherwise."""
    if not any(map(before.is_ambiguous, (found.first, found.second))):
        return None
    shown: list[str] = []
    for insn_id, suffix in ((found.first, ""), (found.second, OTHER)):
        own = {n: v for n, v in found.point.items() if not n.endswith(OTHER)}
        if suffix:
            inames = before.new.inames
            own |= {i: found.point[i + suffix] for i in inames if i + suffix in found.point}
        values = before.values(insn_id, own)
        if values is None:
            return None
        shown.append(f"{insn_id}[{_shown(values, list(values))}]")
    return shown[0], shown[1]


def refuse_reassociation(step: str, old: Kernel, new: Kernel, found: Reordered) -> NoReturn:
    """Raise the error that says which contributions to a reduction come in another order."""
    story = "it would not be one reduction, or not over what corresponds to its inames"
    if found.point is not None:
        parameters = _shown(found.point, [p for p in new.parameters if p in found.point])
        first = {i: found.point[i] for i in found.inames}
        second = {i: found.point[i + OTHER] for i in found.inames}
        story = (
            f"{f'for {parameters}, ' if parameters else ''}the contribution of "
            f"{_shown(first, list(first))} would come before that of "
            f"{_shown(second, list(second))}, or might, which it did not before"
        )
    name = name_of(found.reduction.operation)
    why = f"kernel '{old.name}' does not permit (allow_reassociation is False)"
    permit = "set_options(kernel, allow_reassociation=True)"
    if not facts_of(found.reduction.operation).regroups:
        why = f"may change its result: '{name}' is not claimed to be associative and commutative"
        permit = "register_reduction(..., associative=True, commutative=True)"
    raise Reassociated(
        f"{step} would compute {show_expression(found.reduction)} in another order, which {why}: "
        f"{story}",
        where=call_and_places(old, found.insn_id),
        excerpt=excerpt(old, found.insn_id),
        remedy="keep the order of the reduction's loops (prioritize_loops), or permit another one: "
        f"{permit}",
    )


def add_claims(error: CannotProve, claims: Sequence[Claim]) -> None:
    """Let an error name the claims about data that would allow the step."""
    if claims:
        calls = " and ".join(str(claim).replace("(", "(knl, ", 1) for claim in claims)
        error.remedy = f"say what you know of the data: {calls} would do; or, {error.remedy}"


def _doubt(found: Violation) -> str:
    if found.other_name is not None:
        return f"'{found.name}' and '{found.other_name}' may overlap"
    return f"which elements of '{found.name}' are touched depends on data"


def _story(before: Before, found: Violation, pair: tuple[str, str] | None) -> str:
    """Tell what the two instances do, and what is wrong with it."""
    kernel, now = before.new, _instances(before.new, found)
    first, second = pair or now
    what = f"the element of '{found.name}'"
    done = {
        "flow": f"{first} writes {what} that {second} reads",
        "anti": f"{first} reads {what} that {second} writes later",
        "output": f"{first} writes {what} that {second} overwrites",
    }[found.kind]
    if found.now == MERGED:
        done = f"{first} and {second} touch an element of '{found.name}' each in a copy of its own"
    if pair is not None:
        done += f" (as the kernel is; the step would make them {now[0]} and {now[1]})"
    parameters = _shown(found.point, [p for p in kernel.parameters if p in found.point])
    story = f"{f'for {parameters}, ' if parameters else ''}{done}; {_NOW[found.now]}"
    return story + reason(kernel, found.name)


_NOW = {
    REVERSED: "after the step, the second would come first",
    UNORDERED: "after the step, either might come first",
    SEPARATED: "after the step, each would have a copy of its own",
    MERGED: "after the step, both would use the same copy",
}

_REMEDIES = {
    REVERSED: "keep the order of the loops that carry this dependence, or skew them first",
    UNORDERED: "leave the iname in which the two differ in a loop; for a sum over it, write a "
    "reduction: sum(i, ...)",
    SEPARATED: "leave the iname in which the two differ in a loop, or let the variable be shared: "
    "declare it in another address space",
    MERGED: "give the variable a subscript for the iname in which the two differ",
}


def _instances(kernel: Kernel, found: Violation) -> tuple[str, str]:
    shown: list[str] = []
    for insn_id, suffix in ((found.first, ""), (found.second, OTHER)):
        inames = [i for i in kernel.inames if i in kernel.instruction(insn_id).within_inames]
        values = {i: found.point[i + suffix] for i in inames if i + suffix in found.point}
        shown.append(f"{insn_id}[{_shown(values, list(values))}]")
    return shown[0], shown[1]


def _shown(values: Mapping[str, int], names: list[str]) -> str:
    return ", ".join(f"{name}={values[name]}" for name in names)


def refuse_result(step: str, found: UserError) -> NoReturn:
    """Raise the error that says why the new kernel would not be well formed."""
    raise IllegalStep(
        f"{step} would make a kernel that is not well formed: {found.what}",
        where=caller_location(),
        excerpt=found.excerpt,
        remedy=found.remedy,
    ) from None


def refuse_start(step: str, old: Kernel, found: UserError) -> NoReturn:
    """Raise the error that says why the old kernel is not well formed, so nothing is proved."""
    raise type(found)(
        f"{step} cannot be proved: kernel '{old.name}' is not well formed before it: {found.what}",
        where=caller_location(),
        excerpt=found.excerpt,
        remedy=found.remedy,
    ) from None


def refuse_obligation(step: str, new: Kernel, added: Added) -> NoReturn:
    """Raise the error that says what would have to hold of the data."""
    found = added.obligation
    ids = " and ".join(f"'{i}'" for i in found.instructions)
    was = "before the step, it does not have to be so"
    if added.conditions:
        conditions = " and ".join(map(show_expression, added.conditions))
        was = f"before the step, that is touched only where {conditions}"
    kind = CannotProve if found.kind == ORDERED else NewObligation
    raise kind(
        f"{step} would make kernel '{new.name}' one that is well formed only if, in {ids}, "
        f"{found.what}; data decides that, and {was}",
        where=call_and_places(new, *found.instructions),
        excerpt=excerpt(new, *found.instructions),
        remedy=f"if you know that it is so, {step}(..., unsafe=True) takes the step and notes it "
        "in the kernel; calls with check_assumptions=True check it",
    )


# --- values that come from elsewhere


def refuse_flow(step: str, before: Before, found: Difference, why: str | None) -> NoReturn:
    """Raise the error that says what is no longer computed from the same values."""
    new = before.new
    if not found.certain:
        about = f"'{found.name}': " if found.name else ""
        where = "at its end" if found.insn_id == END.id else f"in instruction '{found.insn_id}'"
        raise CannotProve(
            f"{step} cannot be shown to keep what kernel '{new.name}' computes {where}: "
            f"{about}{found.what}",
            where=call_and_places(new, *_known_ids(new, found.insn_id)),
            excerpt=excerpt(new, *_known_ids(new, found.insn_id)),
            remedy=f"if you know that it does, {step}(..., unsafe=True) takes the step "
            "and notes it in the kernel",
        )
    if found.reader is None or found.before is None or found.now is None:
        own = f"instruction '{found.insn_id}': {found.what}"
        if why is not None and found.what.startswith(why):
            why = found.what  # which names a witness
        text = why or (found.what if found.insn_id == END.id else own)
        raise NotTheSame(
            f"{step}: {text}",
            where=caller_location(),
            remedy=f"if you know that it computes the same, {step}(..., unsafe=True) takes the "
            "step and notes it in the kernel",
        )
    raise IllegalStep(
        f"{step} would change what kernel '{new.name}' computes: {_other_value(before, found)}",
        where=call_and_places(new, *_known_ids(new, found.insn_id, found.before.insn_id)),
        excerpt=excerpt(new, *_known_ids(new, found.insn_id, found.before.insn_id)),
        remedy="keep writes and reads of what carries this value in their order, and in "
        "storage of its own",
    )


def _other_value(kernels: Before, found: Difference) -> str:
    if found.reader is None or found.before is None or found.now is None or found.point is None:
        return found.what
    point, kernel = found.point, kernels.new
    parameters = _shown(point, [p for p in kernel.parameters if p in point])
    start = f"for {parameters}, " if parameters else ""
    before, now = _origin(found.before, point), _origin(found.now, point)
    was = _was(kernels, found.now, point)
    if found.reader.insn_id == END.id:
        element = ", ".join(str(point.get(name, 0)) for name in found.reader.names.values())
        what = f"{found.name}[{element}]" if element else f"'{found.name}'"
        return f"{start}{what} ends with {before}; after the step, with {now}{was}"
    reader = _instance(found.reader, point)
    own = _was(kernels, found.reader, point)
    return f"{start}{reader}{own} reads from '{found.name}' {before}; after the step, {now}{was}"


def _was(kernels: Before, at: At, point: Mapping[str, int]) -> str:
    """Return which instance one of the new kernel was, if it has the name of another one."""
    if at.insn_id is None or at.insn_id == END.id or not kernels.is_ambiguous(at.insn_id):
        return ""
    here = {i: point[name] for i, name in at.names.items() if name in point}
    values = kernels.values(at.insn_id, {**point, **here})
    return (
        "" if values is None else f" (before the step: {at.insn_id}[{_shown(values, [*values])}])"
    )


def _origin(at: At, point: Mapping[str, int]) -> str:
    if at.insn_id is None:
        return "what nobody has written"
    return f"what {_instance(at, point)} wrote"


def _instance(at: At, point: Mapping[str, int]) -> str:
    values = ", ".join(f"{i}={point[name]}" for i, name in at.names.items() if name in point)
    return f"{at.insn_id}[{values}]"


def _known_ids(kernel: Kernel, *ids: str | None) -> list[str]:
    return [i for i in ids if i is not None and i in kernel.instructions_by_id]
