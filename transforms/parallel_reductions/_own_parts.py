"""Work items that reduce parts of their own, before a group reduces what they found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from polygen.analysis.typing.kept_types import kept_in
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import parts_of
from polygen.ir.revision import Revision
from polygen.language.within import matching
from polygen.transformation import Kind, Names, Tag, Within, to_names, to_tag, transformation

Shape = Annotated[tuple[int, ...], Kind("a shape", lambda _, v: isinstance(v, tuple))]


@transformation
def reduce_own_parts(
    kernel: Kernel, insns: Within, inames: Names, shape: Shape, again: Tag
) -> Kernel:
    """Let work items reduce parts, and then a group what they found.

    ``sum(j, sum(k, a[j, k]))`` becomes ``sum(j, own[j])``, with ``own[t] = sum(k, a[t, k])``.

    Parameters:
        insns: the instructions, all of whose reductions over the first iname have this form.
        inames: that over work items; the one within which these find their parts; and that of
            results which a group has side by side, if there are several.
        shape: how many results and work items a group has.
        again: the tag of the first iname then: its axis for a tree, or that of a loop of each item.
    """
    reduced, item, *side = to_names(inames)
    made = _Parts(kernel, reduced, item, side, shape)
    chosen = {insn.id for insn in matching(kernel, insns)}
    return made.revision.with_stages(
        {insn.id: made.of(insn) for insn in kernel.instructions if insn.id in chosen},
        domains=_apart(kernel, reduced, item),
        tags={**kernel.tags, item: kernel.tags[reduced], reduced: to_tag(again)},
    )


def _apart(kernel: Kernel, reduced: str, item: str) -> tuple[Domain, ...]:
    """Return domains in which the parts are those of an item, and what is reduced has its own."""
    home = kernel.home_domains[reduced]
    rest = [iname for iname in home.inames if iname != reduced]
    items = project_out(home.flat, rest)
    news = [Domain(unflatten(items, [reduced]).drop_unused_params())]
    if item not in kernel.home_domains:
        own = unflatten(rename_dimension(items, reduced, item), [item])
        news.append(Domain(own.drop_unused_params()))
    parts = unflatten(rename_dimension(home.flat, reduced, item), rest)
    news.append(Domain(parts.drop_unused_params()))
    return tuple([n for d in kernel.domains for n in (news if d is home else [d])])


class _Parts:
    """Makes the instructions in which work items reduce.

    Attributes:
        revision: the kernel with what they find.
    """

    def __init__(
        self, kernel: Kernel, reduced: str, item: str, side: Sequence[str], shape: Shape
    ) -> None:
        self._kernel, self._reduced, self._item = kernel, reduced, item
        self._side, self._shape = side, shape
        self.revision = Revision(kernel)

    def of(self, insn: Instruction) -> list[Instruction]:
        """Return what an instruction becomes, itself last."""
        made: list[Instruction] = []

        def outer(node: Expression) -> Expression:
            if not isinstance(node, ex.Reduction) or node.inames != (self._reduced,):
                return node
            stage, read = self._stage(insn, node.operand)
            made.append(stage)
            return ex.Reduction(node.operation, node.inames, read)

        new = insn.map_expressions(lambda e: walk.rewrite(e, outer))
        return [*made, new.copy(depends_on=new.depends_on.union(stage.id for stage in made))]

    def _stage(self, insn: Instruction, part: Expression) -> tuple[Instruction, Expression]:
        """Return the instruction in which items reduce, and what a group reduces then."""
        assert isinstance(part, ex.Reduction)
        operands = parts_of(part)
        arrays = [self._array(f"{insn.id}_own", operand, len(operands)) for operand in operands]
        found = [self._element(array, self._item) for array in arrays]
        read = [self._element(array, self._reduced) for array in arrays]
        whole = walk.substitute(part, {self._reduced: ex.Variable(self._item)})
        several = [ex.Component(whole, n) for n in range(len(operands))]
        stage = self.revision.stage(
            insn,
            "part",
            found,
            several if len(several) > 1 else [whole],
            within_inames=insn.within_inames | {self._item},
        )
        return stage, read[0] if len(read) == 1 else ex.Several(tuple(read))

    def _array(self, like: str, operand: Expression, width: int) -> ex.Variable:
        dtype = kept_in(self._kernel, operand) if width > 1 else None
        return self.revision.temporary(like, dtype, self._shape, AddressSpace.LOCAL, shuffled=True)

    def _element(self, array: ex.Variable, item: str) -> ex.Subscript | ex.Variable:
        return ex.element(array, tuple([ex.Variable(iname) for iname in (*self._side, item)]))
