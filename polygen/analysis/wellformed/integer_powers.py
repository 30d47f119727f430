"""Finds powers of integers whose exponent may be negative: there are no such in NumPy.

``2**k[i]`` of integers needs ``k[i] >= 0`` in each instance that computes it.  What polygen's code
makes of a negative exponent is 1, so that nothing else can go wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polygen.analysis.access.accesses import Reference, evaluated_parts
from polygen.analysis.integers.instance_wording import shown_instance, shown_parameters
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.inference import kinds
from polygen.analysis.typing.kinds import Kind, letter
from polygen.analysis.wellformed.array_bounds import negative_instance
from polygen.analysis.wellformed.obligations import NOT_NEGATIVE, Obligation
from polygen.errors import NegativePower, UserError
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt


@per_kernel
def power_obligations(kernel: Kernel) -> tuple[Obligation, ...]:
    """Return what has to hold for each power of integers to be one, where data decides.

    Only what is known to be of integers is looked at: of a kernel whose types come with a call,
    that is little.

    Raises:
        NegativePower: if an exponent is negative, whatever the data is.
    """
    kernel = kernel.expanded
    found = [o for insn in kernel.instructions for o in _of_instruction(kernel, insn)]
    return tuple(dict.fromkeys(found))


def has_powers(kernel: Kernel) -> bool:
    """Tell whether some power has an exponent that is no number: a quick look."""
    return any(True for insn in kernel.expanded.instructions for _ in _powers(insn))


def _of_instruction(kernel: Kernel, insn: Instruction) -> Iterator[Obligation]:
    for node, (base, exponent), reference in _powers(insn):
        if not _is_of_integers(node, exponent, kinds(kernel)):
            continue
        below = negative_instance(kernel, reference)
        if below is None:
            continue
        shown = f"{show_expression(exponent)} >= 0"
        if below.point is not None:
            parameters = shown_parameters(kernel, below.point)
            here = shown_instance(kernel, insn.id, below.point, "", reference.inames)
            raise NegativePower(
                f"in kernel '{kernel.name}', {parameters}{here} raises the integer "
                f"{show_expression(base)} to a negative power, as '{show_expression(node)}' says",
                where=insn.location,
                excerpt=excerpt(kernel, insn.id),
                remedy="raise a floating-point number: write 1.0*x or float64(x); or say what is "
                f"known of the sizes, so that {shown}",
            )
        what = f"{show_expression(node)} is a power of integers: {shown}"
        yield Obligation(NOT_NEGATIVE, (insn.id,), "", what, (reference,), axis=0)


def _powers(
    insn: Instruction,
) -> Iterator[tuple[Expression, tuple[Expression, Expression], Reference]]:
    """Yield powers, with base and exponent, and where they are computed, as a reference."""
    for node, inames, conditions in evaluated_parts(insn):
        parts = _base_and_exponent(node)
        if parts is not None and isinstance(parts[1], ex.ExpressionNode):
            yield node, parts, Reference(insn, "", (parts[1],), False, inames, conditions)


def _base_and_exponent(node: Expression) -> tuple[Expression, Expression] | None:
    if isinstance(node, ex.Power):
        return node.base, node.exponent
    if isinstance(node, ex.Call) and ex.name_of(node.function) == "pow":
        base, exponent = node.parameters
        return base, exponent
    return None


def _is_of_integers(node: Expression, exponent: Expression, known: Mapping[str, Kind]) -> bool:
    try:
        return letter(type_of(node, known)) in "iu" and letter(type_of(exponent, known)) == "i"
    except UserError:  # a type that is not known yet, or none: that is said where types are found
        return False
