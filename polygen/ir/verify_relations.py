"""Checks that relations are about instances of the kernel."""

from __future__ import annotations

from polygen.errors import MalformedRelation
from polygen.ir.array import ValueArg
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.relation import InstanceRelation


def check_relation(
    kernel: Kernel, insn: Instruction, relation: InstanceRelation, excerpt: str
) -> None:
    """Check what a relation between instances mentions.

    Parameters:
        kernel: the kernel.
        insn: the instruction whose instances come later.
        relation: what comes before them.
        excerpt: what an error shows.

    Raises:
        UnknownInstruction: if the other instruction does not exist.
        MalformedRelation: if it does not have just the inames of both, or mentions what is no
            scalar argument.
    """
    first = kernel.instruction(relation.first)
    for names, which in ((relation.inames, first), (relation.later_inames, insn)):
        if frozenset(names) != which.within_inames or len(set(names)) < len(names):
            raise MalformedRelation(
                f"the dependency of '{insn.id}' on instances of '{first.id}' says "
                f"{{{', '.join(names)}}} for '{which.id}', which is within "
                f"{{{', '.join(sorted(which.within_inames))}}}",
                where=insn.location,
                excerpt=excerpt,
                remedy="name all inames of the first instruction before the arrow, and all of the "
                "second, with a ' behind each, after it",
            )
    for name in relation.parameters:
        if not isinstance(kernel.variables.get(name), ValueArg):
            raise MalformedRelation(
                f"the dependency of '{insn.id}' on instances of '{first.id}' mentions '{name}', "
                "which is no scalar argument",
                where=insn.location,
                excerpt=excerpt,
                remedy="relations are in terms of the inames of both instructions and of sizes",
            )
