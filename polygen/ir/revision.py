"""A kernel in the making that a step makes of another one: names, temporaries, instructions.

revision = Revision(kernel)
part = revision.temporary("part", "float64", (n,))
stage = revision.stage(insn, "part", [part[i]], [value], within_inames=loops)
new = revision.with_stages({insn.id: [stage, insn.copy(...)]})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import Domain, with_duplicates
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment, Instruction, MultiAssignment, assigning
from polygen.ir.kernel import Kernel


class Revision:
    """A new kernel under construction: an old one, with parts added or replaced.

    Attributes:
        kernel: the kernel before.
        domains: its domains, with those of new inames.
        temporaries: the new ones.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.domains: tuple[Domain, ...] = kernel.domains
        self.temporaries: list[TemporaryVariable] = []
        self._taken: set[str] = set()

    def name(self, like: str) -> str:
        """Return a new name."""
        found = self.kernel.new_name(like, self._taken)
        self._taken.add(found)
        return found

    def copies(self, inames: Iterable[str]) -> dict[str, str]:
        """Return new inames with the values of others."""
        renamed = {iname: self.name(iname) for iname in inames}
        self.domains = tuple([new for d in self.domains for new in with_duplicates(d, renamed)])
        return renamed

    def temporary(
        self,
        like: str,
        dtype: DType | None = None,
        shape: tuple[Expression, ...] = (),
        space: AddressSpace = AddressSpace.PRIVATE,
        *,
        shuffled: bool = False,
    ) -> ex.Variable:
        """Return a new temporary; parameters are the attributes of `TemporaryVariable`."""
        name = self.name(like)
        self.temporaries.append(TemporaryVariable(name, dtype, shape, space, shuffled=shuffled))
        return ex.Variable(name)

    def stage(
        self,
        insn: Instruction,
        kind: str,
        assignees: Sequence[ex.Variable | ex.Subscript],
        values: Sequence[Expression],
        **changes: Any,
    ) -> Assignment | MultiAssignment:
        """Return a new instruction that assigns values where another one is executed.

        It is in the loops of that one, under its conditions, after what that comes after, and has
        its place in the user's file; unless `changes` say something else.

        Parameters:
            insn: the instruction.
            kind: what stands behind the id of that, in the new id.
            assignees, values: what it does.
            changes: others of its fields.
        """
        common: dict[str, Any] = {
            "within_inames": insn.within_inames,
            "depends_on": insn.depends_on,
            "predicates": insn.predicates,
            "location": insn.location,
        }
        return assigning(self.name(f"{insn.id}_{kind}"), assignees, values, **(common | changes))

    def with_stages(self, stages: Mapping[str, Sequence[Instruction]], **changes: Any) -> Kernel:
        """Return the kernel with all that is new.

        Parameters:
            stages: by the ids of instructions, what takes their place.
            changes: other fields of the kernel.
        """
        old = self.kernel
        instructions = [new for insn in old.instructions for new in stages.get(insn.id, (insn,))]
        made = {
            "instructions": tuple(instructions),
            "domains": self.domains,
            "temporaries": (*old.temporaries, *self.temporaries),
        }
        return old.copy(**(made | changes))
