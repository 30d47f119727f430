"""`polygen.reduce_in_parts`."""

from __future__ import annotations

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.access.outermost_reductions import Outermost
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.moving_box import TileAxis, sized_axis, tile_axis
from polygen.analysis.typing.kept_types import kept_in
from polygen.errors import FootprintNotAffine, NoSuchReduction
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.domain import Domain, project_out, rename_dimension, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import Parts, facts_of, parts_of
from polygen.ir.relation import widened
from polygen.ir.revision import Revision
from polygen.ir.tags import ForTag
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import (
    Iname,
    NewName,
    PositiveInt,
    Tag,
    Within,
    transformation,
)
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.splitting.split_iname import split_iname


@transformation
def reduce_in_parts(
    kernel: Kernel,
    iname: Iname,
    length: PositiveInt,
    within: Within | None = None,
    *,
    part_iname: NewName | None = None,
    inner_iname: NewName | None = None,
    part_tag: Tag | None = None,
) -> Kernel:
    r"""Reduce parts of so many elements first, and then what these came to.

    What parts come to is kept in an array, so that they can be reduced at the same time, by
    threads or groups of work items: for all iterations of the loops around, or for one, of those
    that are tagged ``for``.  Which elements a part has depends on nothing but `length`: so
    the result is the same, bit by bit, however many threads there are; and a sum of many numbers
    is more exact, for fewer are added up in a row.

    Kind: order and storage.

    Requires:
        1. Some instruction has a reduction over the iname that stands in no other.
        2. Sizes say how many values the inames have that these instructions are within, those
           tagged ``for`` left out, and how many parts there are.
        3. The operation is associative and commutative, and the kernel permits reassociation
           (`set_options`), or what is reduced is exact in any order.

    Parameters:
        iname: the iname that is reduced over.
        length: how many of its values a part has.
        within: the instructions: an id, a query, or several of these; all if not given.
        part_iname: the name of the new iname that counts parts.
        inner_iname: that of the new iname within a part.
        part_tag: a tag for the former, such as ``"g.0"``.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [j]: 0<=j<n }", "total[0] = sum(j, a[j])")
        >>> knl = pg.reduce_in_parts(knl, "j", 256, part_tag="g.0")
        >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [j_part] part_j_inner[j_part] = sum(j_inner, a[256*j_part + j_inner])  {id=insn_part}
        [] total[0] = sum(j_part_0, part_j_inner[j_part_0])  {id=insn, dep=insn_part}

    Raises:
        UnknownIname, UnknownInstruction: if the kernel has no such iname or instruction.
        NoSuchReduction: if 1 does not hold.
        FootprintNotAffine: if 2 does not hold.
        NotTheSame: if 3 does not hold; or if it cannot be seen which element is which, because an
            iname that is reduced over is not mentioned in what is reduced.
    """
    part = part_iname or kernel.new_name(f"{iname}_part")
    inner = inner_iname or kernel.new_name(f"{iname}_inner", (part,))
    chosen = [insn.id for insn in matching(kernel, within) if _over(insn, iname)]
    if not chosen:
        raise NoSuchReduction(
            f"there is no reduction over '{iname}' that stands in no other",
            where=caller_location(),
            excerpt=excerpt(kernel, *(insn.id for insn in matching(kernel, within))),
            remedy="name what an outermost reduction runs over",
        )
    kernel = split_iname(kernel, iname, length, outer_iname=part, inner_iname=inner)
    kernel = _with_parts_kept(kernel, chosen, part)
    return kernel if part_tag is None else tag_inames(kernel, {part: part_tag})


def _over(insn: Instruction, iname: str) -> list[tuple[ex.Reduction, Parts]]:
    """Return the outermost reductions over an iname, and the conditions around each."""
    found: Outermost[ex.Variable] = Outermost(
        lambda node: (ex.Variable(""),) * facts_of(node.operation).width
    )
    insn.map_expressions(found.replace)
    return [(node, asked) for node, asked in found.accumulators if iname in node.inames]


@transformation
def _with_parts_kept(kernel: Kernel, insns: Within, part: Iname) -> Kernel:
    """Keep what each part comes to.

    Parameters:
        insns: instructions with reductions over `part` and other inames.
        part: the iname that counts parts.
    """
    chosen = {insn.id for insn in matching(kernel, insns)}
    stages: list[Instruction] = []
    others: list[Instruction] = []
    for insn in kernel.instructions:
        if insn.id not in chosen:
            others.append(insn)
            continue
        keeping = _Keeping(kernel, insn, part)
        of_insn, replaced = keeping.instructions()
        stages += of_insn
        others.append(replaced)
        kernel = keeping.revision.with_stages({})
    # All parts first: then one launch has them all, where nothing else orders them.
    return kernel.copy(instructions=(*stages, *others))


class _Keeping:
    """Makes an instruction two: one for parts, and one for what they come to.

    Attributes:
        revision: the kernel with the arrays and the iname that this takes.
    """

    def __init__(self, kernel: Kernel, insn: Instruction, part: str) -> None:
        self._kernel, self._insn, self._part = kernel, insn, part
        self.revision = Revision(kernel)
        self._again = self.revision.name(part)
        around = domain_of(kernel, with_surrounding(kernel, insn.within_inames))
        values = self._values(part).gist(around).drop_unused_params()
        home = unflatten(rename_dimension(values, part, self._again), (self._again,))
        self.revision.domains = (*kernel.domains, Domain(home))
        self._axes = [self._axis(part)]
        each = [i for i in kernel.inames if i in insn.within_inames]
        self._axes += [self._axis(i) for i in each if kernel.tags.get(i) != ForTag()]

    def instructions(self) -> tuple[list[Instruction], Instruction]:
        """Return the instructions for parts, and what then takes the place of this one."""
        made: list[Instruction] = []
        new: dict[Expression, Expression] = {}
        for node, conditions in _over(self._insn, self._part):
            stage, new[node] = self._stage(node, conditions)
            made.append(stage)
        insn = self._insn.map_expressions(
            lambda e: walk.rewrite(e, lambda node: new.get(node, node))
        )
        return made, insn.copy(depends_on=insn.depends_on.union([stage.id for stage in made]))

    def _stage(self, node: ex.Reduction, conditions: Parts) -> tuple[Instruction, ex.Reduction]:
        """Return what keeps the parts of a reduction, and the reduction of these."""
        insn, width = self._insn, facts_of(node.operation).width
        inner = tuple([iname for iname in node.inames if iname != self._part])
        of_part = ex.Reduction(node.operation, inner, node.operand)
        elements = self._elements(node)
        stage = self.revision.stage(
            insn,
            "part",
            elements,
            [ex.Component(of_part, n) for n in range(width)] if width > 1 else [of_part],
            within_inames=insn.within_inames | {self._part},
            happens_after=frozenset(
                [widened(r, frozenset((self._part,))) for r in insn.happens_after]
            ),
            predicates=(*insn.predicates, *conditions),
        )
        again = {self._part: ex.Variable(self._again)}
        read = [walk.substitute(element, again) for element in elements]
        operand = read[0] if width == 1 else ex.Several(tuple(read))
        return stage, ex.Reduction(node.operation, (self._again,), operand)

    def _elements(self, node: ex.Reduction) -> list[ex.Subscript]:
        """Return elements of new arrays for what a part comes to."""
        shape = tuple([axis.size for _, axis in self._axes])
        index = [axis.place(LinearForm.of_name(iname)) for iname, axis in self._axes]
        subscript = tuple(index) if len(index) > 1 else index[0]
        found: list[ex.Subscript] = []
        parts = parts_of(node) if facts_of(node.operation).width > 1 else (node,)
        like = "part_" + "_".join(i for i in node.inames if i != self._part)
        for dtype in [kept_in(self._kernel, part) for part in parts]:
            array = self.revision.temporary(like, dtype, shape, AddressSpace.GLOBAL)
            found.append(ex.Subscript(array, subscript))
        return found

    def _axis(self, iname: str) -> tuple[str, TileAxis]:
        """Return an axis with a place for each value of an iname."""
        around = with_surrounding(self._kernel, [iname])
        values = project_out(self._values(iname), around - {iname})
        flat = unflatten(values, (iname,))
        sizes, known = sorted(self._kernel.parameters), known_parameters(self._kernel)
        axis = tile_axis(flat) or sized_axis(flat, sizes, known)
        if axis is None:
            raise FootprintNotAffine(
                f"what parts of the reduction in '{self._insn.id}' come to cannot be kept for each "
                f"value of '{iname}': how many these are, sizes do not say",
                where=caller_location(),
                excerpt=excerpt(self._kernel, self._insn.id),
                remedy="reduce within loops whose bounds are sizes, and assume that these are "
                ">= 0; or tag loops 'for' whose iterations come one after the other",
            )
        return iname, axis

    def _values(self, iname: str) -> isl.Set:
        """Return the values of an iname, and of what this instruction is within, as a flat set."""
        kept = with_surrounding(self._kernel, self._insn.within_inames | {iname})
        return domain_of(self._kernel, kept)
