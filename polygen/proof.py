"""Refusing steps that would change what a kernel computes.

A step is proved to keep the meaning of the kernel (`polygen.analysis.legality` says how), or
refused with two instances whose order it breaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polygen.analysis.instance_map import InstanceMap
from polygen.analysis.instances import difference
from polygen.analysis.legality import MERGED, REVERSED, SEPARATED, UNORDERED, Violation, violation
from polygen.analysis.pairs import OTHER
from polygen.analysis.proving import limited
from polygen.errors import CannotProve, IllegalStep, NotTheSame
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.source import caller_location


@dataclass(frozen=True)
class Rearranged:
    """What a transformation returns that gives instances other coordinates.

    Attributes:
        kernel: the new kernel.
        values: what each old iname is in terms of the new ones; those that are not mentioned
            are still there.
        by_instruction: for an instruction (by its id) of which something else is true, what is
            said there instead of `values`.
    """

    kernel: Kernel
    values: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    by_instruction: Mapping[str, Mapping[str, Expression]] = field(
        default_factory=dict[str, Mapping[str, Expression]]
    )

    @property
    def instances(self) -> InstanceMap:
        """Which instance of the kernel before each new one computes."""
        return InstanceMap(self.values, self.by_instruction)


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
        ProofLimit: if isl has more to do than is reasonable.
    """
    new = result.kernel
    if _nothing_moved(old, new):
        return
    with limited(
        f"{step} could not be proved for kernel '{new.name}'",
        f"if you know that the step is right, {step}(..., unsafe=True) takes it and notes it in "
        "the kernel",
    ):
        why = difference(old, new, result.instances)
        if why is not None:
            raise NotTheSame(f"{step}: {why}", where=caller_location())
        found = violation(old, new, result.instances)
    if found is not None:
        _refuse(step, new, found)


def _nothing_moved(old: Kernel, new: Kernel) -> bool:
    return (
        old.domains == new.domains
        and old.instructions == new.instructions
        and old.tags == new.tags
        and old.priorities == new.priorities
        and old.assumptions == new.assumptions
        and old.variables == new.variables
    )


def _refuse(step: str, kernel: Kernel, found: Violation) -> None:
    marked = excerpt(kernel, found.first, found.second)
    if not found.certain:
        raise CannotProve(
            f"{step} cannot be shown to keep what kernel '{kernel.name}' computes: {_doubt(found)}."
            f" It may be that, {_story(kernel, found)}",
            where=caller_location(),
            excerpt=marked,
            remedy=f"if you know that this is not so, {step}(..., unsafe=True) takes the step "
            "and notes it in the kernel",
        )
    raise IllegalStep(
        f"{step} would change what kernel '{kernel.name}' computes: {_story(kernel, found)}",
        where=caller_location(),
        excerpt=marked,
        remedy=_REMEDIES[found.now],
    )


def _doubt(found: Violation) -> str:
    if found.other_name is not None:
        return f"'{found.name}' and '{found.other_name}' may overlap"
    return f"which elements of '{found.name}' are touched depends on data"


def _story(kernel: Kernel, found: Violation) -> str:
    """Tell what the two instances do, and what is wrong with it."""
    first, second = _instances(kernel, found)
    what = f"the element of '{found.name}'"
    done = {
        "flow": f"{first} writes {what} that {second} reads",
        "anti": f"{first} reads {what} that {second} writes later",
        "output": f"{first} writes {what} that {second} overwrites",
    }[found.kind]
    if found.now == MERGED:
        done = f"{first} and {second} touch an element of '{found.name}' each in a copy of its own"
    parameters = _shown(found.point, [p for p in kernel.parameters if p in found.point])
    return f"{f'for {parameters}, ' if parameters else ''}{done}; {_NOW[found.now]}"


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
