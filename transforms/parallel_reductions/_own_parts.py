"""Work items that reduce parts of their own, before a group reduces what they found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from polygen.analysis.typing.kept_types import kept_in
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction, assigning
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import parts_of
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
    instructions = [
        new for i in kernel.instructions for new in (made.of(i) if i.id in chosen else [i])
    ]
    return kernel.copy(
        domains=_apart(kernel, reduced, item),
        instructions=tuple(instructions),
        temporaries=(*kernel.temporaries, *made.temporaries),
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
        temporaries: what they find.
    """

    def __init__(
        self, kernel: Kernel, reduced: str, item: str, side: Sequence[str], shape: Shape
    ) -> None:
        self._kernel, self._reduced, self._item = kernel, reduced, item
        self._side, self._shape = side, shape
        self._names: set[str] = set()
        self.temporaries: list[TemporaryVariable] = []

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
        found = [self._element(array.name, self._item) for array in arrays]
        read = [self._element(array.name, self._reduced) for array in arrays]
        whole = walk.substitute(part, {self._reduced: ex.Variable(self._item)})
        several = [ex.Component(whole, n) for n in range(len(operands))]
        stage = assigning(
            self._new_name(f"{insn.id}_part"),
            found,
            several if len(several) > 1 else [whole],
            within_inames=insn.within_inames | {self._item},
            depends_on=insn.depends_on,
            predicates=insn.predicates,
            location=insn.location,
        )
        return stage, read[0] if len(read) == 1 else ex.Several(tuple(read))

    def _array(self, like: str, operand: Expression, width: int) -> TemporaryVariable:
        dtype = kept_in(self._kernel, operand) if width > 1 else None
        name = self._new_name(like)
        array = TemporaryVariable(name, dtype, self._shape, AddressSpace.LOCAL, shuffled=True)
        self.temporaries.append(array)
        return array

    def _element(self, name: str, item: str) -> ex.Subscript | ex.Variable:
        index = tuple([ex.Variable(iname) for iname in (*self._side, item)])
        return ex.element(ex.Variable(name), index)

    def _new_name(self, like: str) -> str:
        name = self._kernel.new_name(like, self._names)
        self._names.add(name)
        return name
