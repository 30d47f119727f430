"""Rows that the work items of a group share: the steps of `polygen.share_rows`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd
from typing import NamedTuple

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.moving_box import TileAxis, tile_axis
from polygen.errors import InvalidArgument
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.domain import project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import expand
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import Name, transformation
from polygen.transforms.copies.precompute import precompute
from polygen.transforms.fusion.loop_sharing import in_one_loop, loops_of_all
from polygen.transforms.inames.prioritize_loops import prioritize_loops
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.parallel_reductions._own_parts import reduce_own_parts
from polygen.transforms.reductions.split_reduction_outward import split_reduction_outward
from polygen.transforms.rules.extract_subst import extract_subst
from polygen.transforms.splitting.split_iname import split_iname


class Place(NamedTuple):
    """The inames of an element of a row: ``lanes*(threads*part + item) + lane``.

    If rows are not kept, these are the elements of a step; each reads so many vectors at once.
    """

    part: str
    item: str
    lane: str
    step: str | None = None

    @property
    def inames(self) -> dict[str, str]:
        """The inames by what they count."""
        return {field: iname for field, iname in self._asdict().items() if iname is not None}


@dataclass(frozen=True)
class Shares:
    """The division of rows: work items, and neighbours at once.

    If rows are not kept, `ahead` says how many vectors are read at once.
    """

    threads: int
    lanes: int
    ahead: int | None = None


class Rows:
    """Divides rows, and keeps what is used of them.

    Parameters:
        kernel: the kernel.
        ids: the instructions that go along rows.
        shares: how these are divided.

    Attributes:
        kernel: the kernel, as far as this has come.
    """

    def __init__(self, kernel: Kernel, ids: Sequence[str], shares: Shares) -> None:
        self.kernel: Kernel = kernel
        self._ids, self._shares = ids, shares
        self.around = loops_of_all(kernel, ids)
        self._rows = {insn_id: self._row(insn_id) for insn_id in ids}
        self._check_length()
        self._places: dict[str, Place] = {}  # by the iname along the row

    def _plain(self, insn_id: str) -> Instruction:
        return self.kernel.without_rules.instruction(insn_id)

    def _row(self, insn_id: str) -> str:
        """Return the iname along the row of an instruction."""
        insn = self._plain(insn_id)
        own = sorted((insn.within_inames - self.around) | insn.reduction_inames)
        if len(own) == 1:
            return own[0]
        raise InvalidArgument(
            f"share_rows: '{insn_id}' does not go along a row: beside the loops that all of the "
            f"instructions are in, it has {' and '.join(own) or 'none'}",
            where=caller_location(),
            excerpt=excerpt(self.kernel, *self._ids),
            remedy="coalesce_reduction makes one loop of several; fuse_reductions gives "
            "instructions the same loops around",
        )

    def _check_length(self) -> None:
        """Check that all rows are as long, and note how long that is."""
        rows = list(dict.fromkeys(self._rows.values()))
        axes = [self._axis(row) for row in rows]
        if axes[0] is None or axes.count(axes[0]) < len(axes):
            raise InvalidArgument(
                "share_rows: what an item keeps of a row is in registers: rows have one length, "
                f"which is constant; those along {' and '.join(rows)} do not",
                where=caller_location(),
                excerpt=excerpt(self.kernel, *self._ids),
                remedy="fix_parameters makes the length a constant",
            )
        self._length = axes[0].extent

    def _axis(self, row: str) -> TileAxis | None:
        """Return the values of an iname along rows, if their number is constant."""
        around = with_surrounding(self.kernel, [row])
        values = project_out(domain_of(self.kernel, around), around - {row})
        return tile_axis(unflatten(values, (row,)))

    # --- rows in parts

    def divide_among_blocks(self, blocks: int, side: Mapping[str, int]) -> tuple[Rows, str]:
        """Give each of several blocks of work items a part of each row.

        Parameters:
            blocks: how many there are.
            side: as `reduce_parts` has it.

        Returns:
            What goes along these parts, and the iname of the blocks.
        """
        reduced = {iname for i in self._ids for iname in self._plain(i).reduction_inames}
        outer: dict[str, str] = {}
        # Parts begin where vectors do, if rows end there.
        unit = gcd(self._length, self._shares.lanes)
        length = unit * -(-self._length // (blocks * unit))
        for row in dict.fromkeys(self._rows.values()):
            outer[row], inner = (self.kernel.new_name(f"{row}_{n}") for n in ("block", "inner"))
            self.kernel = split_iname(
                self.kernel,
                row,
                length,
                outer_iname=outer[row],
                inner_iname=inner,
                outer_tag="l.2",
            )
            if row in reduced:
                self.kernel = split_reduction_outward(self.kernel, outer[row])
        shared = self._shared(outer, reduced, "row_block")
        shape = (*side.values(), blocks)
        before = self.kernel.instructions_by_id
        for iname in outer.values():
            ids = [i for i in self._ids if iname in self._plain(i).reduction_inames]
            if ids:
                # What blocks found, each item combines by itself: that waits once, a tree often.
                inames = (iname, shared, *side)
                self.kernel = reduce_own_parts(self.kernel, ids, inames, shape, "unr")
        parts = [insn.id for insn in self.kernel.instructions if insn.id not in before]
        others = [i for i in self._ids if not self._plain(i).reduction_inames]
        return Rows(self.kernel, [*parts, *others], self._shares), shared

    def divide(self) -> None:
        """Divide the loops along rows, and reductions: an item has some, and then a group all."""
        reduced = {iname for i in self._ids for iname in self._plain(i).reduction_inames}
        for row in dict.fromkeys(self._rows.values()):
            rest = self.kernel.new_name(f"{row}_rest")
            names = (self.kernel.new_name(f"{row}_{name}") for name in Place._fields)
            place, whole = Place(*names), row
            if self._shares.ahead is None:
                place = place._replace(step=None)
            else:
                whole = self.kernel.new_name(f"{row}_together")
                self.kernel = split_iname(
                    self.kernel,
                    row,
                    self._shares.threads * self._shares.lanes * self._shares.ahead,
                    outer_iname=place.step,
                    inner_iname=whole,
                )
            lanes = "unr" if row in reduced or self._length % self._shares.lanes else "vec"
            self.kernel = split_iname(
                self.kernel,
                whole,
                self._shares.lanes,
                outer_iname=rest,
                inner_iname=place.lane,
                inner_tag=lanes,
            )
            self.kernel = split_iname(
                self.kernel,
                rest,
                self._shares.threads,
                outer_iname=place.part,
                inner_iname=place.item,
                outer_tag="unr",
                inner_tag="l.0",
            )
            if row in reduced:
                self.kernel = split_reduction_outward(self.kernel, place.item)
            order = [*([place.step] if place.step else []), place.part, place.lane]
            self.kernel = prioritize_loops(self.kernel, order)
            self._places[row] = place
        items = {row: place.item for row, place in self._places.items()}
        self._item = self._shared(items, reduced, "row_item")

    def _shared(self, inames: Mapping[str, str], reduced: set[str], like: str) -> str:
        """Return the iname for all of some; instructions with loops along the row share it."""
        own = [iname for row, iname in inames.items() if row not in reduced]
        for other in own[1:]:
            self.kernel = in_one_loop(self.kernel, own[0], other)
        return own[0] if own else self.kernel.new_name(like)

    # --- what is kept

    def inline_others(self, kept: Sequence[str]) -> None:
        """Write what rules stand for that are not kept."""
        for rule in self.kernel.substitutions:
            if rule.name not in kept:
                self.kernel = inline_rule(self.kernel, rule.name)

    def name_elements(self, kept: str) -> str:
        """Make a rule, of a part, an item and a lane, of what is kept; return its name.

        Parameters:
            kept: an array, or a rule.
        """
        for use, place in self._elements(kept):
            fields = place.inames
            values = {iname: ex.Variable(field) for field, iname in fields.items()}
            name = self.kernel.new_name(f"{kept}_at_place")
            template = walk.substitute(use, values)
            assert isinstance(template, ex.ExpressionNode)
            self.kernel = extract_subst(self.kernel, name, template, tuple(fields))
            if isinstance(use, ex.Invocation):
                self.kernel = inline_rule(self.kernel, kept)
            return name
        raise InvalidArgument(
            f"share_rows: no instruction uses elements of '{kept}' along its row",
            where=caller_location(),
            excerpt=excerpt(self.kernel, *self._ids),
            remedy="keep what the instructions use: x, where they use x(j) of a rule, or x[i, j]",
        )

    def _elements(self, kept: str) -> Iterator[tuple[Expression, Place]]:
        """Yield what is used of an array or a rule along rows, and where in the row that is."""
        for insn in self.kernel.instructions:
            for node in (n for e in insn.reads for n in walk.subexpressions(e)):
                named = (isinstance(node, ex.Invocation) and node.rule == kept) or (
                    isinstance(node, ex.Subscript) and ex.name_of(node) == kept
                )
                for place in self._places.values() if named else ():
                    if walk.free_variables(node) >= {*place.inames.values()}:
                        yield node, place

    def reduce_parts(self, side: Mapping[str, int]) -> None:
        """Let each item reduce its own part of the row first.

        Parameters:
            side: inames of what a group has side by side, and how much of it.
        """
        shape = (*side.values(), self._shares.threads)
        for place in self._places.values():
            ids = [i for i in self._ids if place.item in self._plain(i).reduction_inames]
            if ids:
                names = (place.item, self._item, *side)
                self.kernel = reduce_own_parts(self.kernel, ids, names, shape, "l.0")

    def keep(self, rule: str, like: str, tag: str) -> None:
        """Let each item compute what it needs of a rule once, and keep it.

        Parameters:
            rule: the rule.
            like: what names begin with.
            tag: that of the loop over neighbours.
        """
        users = {
            insn.id: (insn.within_inames | insn.reduction_inames) - self.around - {self._item}
            for insn in self.kernel.instructions
            if any(use.rule == rule for use in insn.invocations)
        }
        steps = dict.fromkeys(p.step for p in self._places.values())
        for step in steps:
            ids = [i for i, inames in users.items() if step is None or step in inames]
            if ids:
                swept = frozenset[str]().union(*(users[i] for i in ids)) - {step}
                self._keep_for(ids, rule, like, tag, (sorted(swept), step))

    def _keep_for(
        self,
        ids: Sequence[str],
        rule: str,
        like: str,
        tag: str,
        loops: tuple[Sequence[str], str | None],
    ) -> None:
        """Let each item keep what some instructions need, swept over loops, in those of a step."""
        swept, step = loops
        part, lane = (self.kernel.new_name(f"{like}_own_{name}") for name in ("part", "lane"))
        self.kernel = precompute(
            self.kernel,
            rule,
            swept,
            [f"id:{insn_id}" for insn_id in ids],
            storage_axes=["part", "lane"],
            precompute_inames=[part, lane],
            precompute_outer_inames=sorted({*self.around, self._item, *([step] if step else [])}),
            temporary_name=self.kernel.new_name(f"{like}_own"),
            default_tag="unr",
            temporary_address_space=AddressSpace.PRIVATE,
        )
        self.kernel = prioritize_loops(self.kernel, [part, lane])
        if tag != "unr" and self._length % self._shares.lanes == 0:
            self.kernel = tag_inames(self.kernel, {lane: tag}, force=True)


@transformation
def inline_rule(kernel: Kernel, rule: Name) -> Kernel:
    """Write what one rule stands for where it is used, in other rules, too."""
    chosen = {rule: kernel.rules[rule]}
    return kernel.copy(
        instructions=tuple(
            [i.map_expressions(lambda e: expand(e, chosen)) for i in kernel.instructions]
        ),
        substitutions=tuple(
            [
                replace(other, expression=expand(other.expression, chosen))
                for other in kernel.substitutions
                if other.name != rule
            ]
        ),
    )
