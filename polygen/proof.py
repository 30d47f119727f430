"""Refusing steps that would change what a kernel computes.

A step is proved to keep the meaning of the kernel (`polygen.analysis.legality` says how), or
refused with two instances whose order it breaks.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from polygen.analysis.instances import difference
from polygen.analysis.legality import Violation, violation
from polygen.analysis.pairs import OTHER
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
    """

    kernel: Kernel
    values: Mapping[str, Expression] = field(default_factory=dict[str, Expression])


_SWITCHED_OFF: ContextVar[bool] = ContextVar("proofs are switched off", default=False)


@contextmanager
def without_proofs() -> Generator[None]:
    """Take steps without proving them, for search loops and for measuring.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = a[i-1] + 1")
    >>> with pg.without_proofs():
    ...     racy = pg.tag_inames(knl, {"i": "g.0"})
    """
    token = _SWITCHED_OFF.set(True)
    try:
        yield
    finally:
        _SWITCHED_OFF.reset(token)


def proofs_are_on() -> bool:
    """Tell whether steps are proved: not within `without_proofs`, nor with POLYGEN_PROOFS=0."""
    return not _SWITCHED_OFF.get() and os.environ.get("POLYGEN_PROOFS") != "0"


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
    """
    new = result.kernel
    if _nothing_moved(old, new):
        return
    why = difference(old, new, result.values)
    if why is not None:
        raise NotTheSame(f"{step}: {why}", where=caller_location())
    found = violation(old, new, result.values)
    if found is not None:
        _refuse(step, new, found)


def _nothing_moved(old: Kernel, new: Kernel) -> bool:
    return (
        old.domains == new.domains
        and old.instructions == new.instructions
        and old.tags == new.tags
        and old.priorities == new.priorities
    )


def _refuse(step: str, kernel: Kernel, found: Violation) -> None:
    first, second = _instances(kernel, found)
    done = {
        "flow": f"{first} writes the element of '{found.name}' that {second} reads",
        "anti": f"{first} reads the element of '{found.name}' that {second} writes",
        "output": f"{first} writes the element of '{found.name}' that {second} writes again",
    }[found.kind]
    parameters = _shown(found.point, [p for p in kernel.parameters if p in found.point])
    now = "the second would come first" if found.reversed else "the two would be unordered"
    marked = excerpt(kernel, found.first, found.second)
    if not found.certain:
        raise CannotProve(
            f"{step} cannot be shown to keep the order of '{found.name}': which elements are "
            f"touched depends on data. It may be that {done}, and {now}",
            where=caller_location(),
            excerpt=marked,
            remedy=f"if you know that this is not so, {step}(..., unsafe=True) takes the step "
            "and notes it in the kernel",
        )
    raise IllegalStep(
        f"{step} would change what kernel '{kernel.name}' computes: "
        f"{f'for {parameters}, ' if parameters else ''}{done}; {now}",
        where=caller_location(),
        excerpt=marked,
        remedy=_remedy(found),
    )


def _remedy(found: Violation) -> str:
    if found.reversed:
        return "keep the order of the loops that carry this dependence, or skew them first"
    return (
        "leave the iname that both differ in a loop; for a sum over it, write a reduction: "
        "sum(i, ...)"
    )


def _instances(kernel: Kernel, found: Violation) -> tuple[str, str]:
    shown: list[str] = []
    for insn_id, suffix in ((found.first, ""), (found.second, OTHER)):
        inames = [i for i in kernel.inames if i in kernel.instruction(insn_id).within_inames]
        values = {i: found.point[i + suffix] for i in inames if i + suffix in found.point}
        shown.append(f"{insn_id}[{_shown(values, list(values))}]")
    return shown[0], shown[1]


def _shown(values: Mapping[str, int], names: list[str]) -> str:
    return ", ".join(f"{name}={values[name]}" for name in names)
