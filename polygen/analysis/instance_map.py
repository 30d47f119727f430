"""Which instance of the kernel before a step each instance of the kernel after it computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from polygen.ir import expression as ex
from polygen.ir.expression import Expression


@dataclass(frozen=True)
class InstanceMap:
    """What each old iname is, in terms of the new ones; an iname not mentioned is the same in both.

    Attributes:
        values: for all instructions that are not in `by_instruction`.
        by_instruction: for an instruction (by its id), its mapping as a whole.
    """

    values: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    by_instruction: Mapping[str, Mapping[str, Expression]] = field(
        default_factory=dict[str, Mapping[str, Expression]]
    )

    def of(self, insn_id: str) -> Mapping[str, Expression]:
        """Return what old inames are at the new instances of an instruction."""
        return self.by_instruction.get(insn_id, self.values)

    def value(self, insn_id: str, iname: str) -> Expression:
        """Return what one old iname is at the new instances of an instruction."""
        found = self.of(insn_id).get(iname)
        return ex.Variable(iname) if found is None else found

    def moves(self, insn_id: str, inames: frozenset[str]) -> bool:
        """Tell whether any of the inames is something else at the new instances."""
        return not inames.isdisjoint(self.of(insn_id))


UNMOVED = InstanceMap()
