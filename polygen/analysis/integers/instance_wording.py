"""Words instances, and the parameters they exist for, in messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from polygen.analysis.integers.second_instance import OTHER
from polygen.ir.kernel import Kernel
from polygen.source import Where, caller_location, together

OTHER_ITERATIONS = "it leaves out iterations, or has new ones"


def shown_values(values: Mapping[str, int], names: Iterable[str]) -> str:
    """Return ``i=1, j=2`` for those of the names that have a value."""
    return ", ".join(f"{name}={values[name]}" for name in names if name in values)


def shown_instance(
    kernel: Kernel,
    insn_id: str,
    point: Mapping[str, int],
    suffix: str = "",
    more: Iterable[str] = (),
) -> str:
    """Return ``update[i=1, j=2]``.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.
        point: values of the inames.
        suffix: what the inames end with in `point`.
        more: inames beside those that the instruction is within: those of a reduction.
    """
    within = kernel.instruction(insn_id).within_inames.union(more)
    values = {i: point[i + suffix] for i in kernel.inames if i in within and i + suffix in point}
    return f"{insn_id}[{shown_values(values, values)}]" if values else f"'{insn_id}'"


def shown_conflict(
    kernel: Kernel, kind: str, name: str, insn_ids: tuple[str, str], point: Mapping[str, int]
) -> str:
    """Return what two instances do to one element, one of them writing.

    Parameters:
        kernel: the kernel.
        kind: ``"flow"``, ``"anti"`` or ``"output"``.
        name: the variable.
        insn_ids: the instructions.
        point: values of the inames, the second instance's with a suffix.
    """
    here = shown_instance(kernel, insn_ids[0], point)
    there = shown_instance(kernel, insn_ids[1], point, OTHER)
    element = f"the element of '{name}'" if kernel.array(name).shape else f"'{name}'"
    return {
        "flow": f"{here} writes {element} that {there} reads",
        "anti": f"{here} reads {element} that {there} writes",
        "output": f"{here} writes {element} that {there} writes too",
    }[kind]


def shown_parameters(kernel: Kernel, point: Mapping[str, int]) -> str:
    """Return ``for n=3, `` to start a sentence with, or nothing."""
    values = shown_values(point, kernel.parameters)
    return f"for {values}, " if values else ""


def shown_places(kernel: Kernel, *insn_ids: str) -> Where | None:
    """Return where the user wrote these instructions."""
    return together(kernel.instruction(i).location or kernel.location for i in insn_ids)


def call_and_places(kernel: Kernel, *insn_ids: str) -> Where | None:
    """Return where polygen is called, and where a program has these instructions, if it says so."""
    known = kernel.instructions_by_id
    locations = [known[insn_id].location for insn_id in insn_ids if insn_id in known]
    return together([caller_location(), *[at for at in locations if at and not at.is_call]])
