"""The loops and conditions that are open in a `polygen.Builder`, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polygen.errors import InvalidArgument, UnboundedDomain
from polygen.ir.empty import new_dict, new_set
from polygen.ir.expression import Expression
from polygen.ir.show_expression import show_expression
from polygen.language.blocks import Chain
from polygen.language.said import Said
from polygen.language.while_loops import Break, LoopBegin, LoopEnd, Part
from polygen.source import SourceLocation, caller_location


@dataclass
class _Block:
    """A loop, a condition or a block of options that is open.

    Attributes:
        said: what holds of instructions inside.
        loops: the inames of the open loops, outermost first.
        chain: the condition that was closed last in here, which `otherwise` continues; None if
            something came after it.
        branch_of: the condition that this is a branch of, or None.
        is_loop: whether it is a loop.
    """

    said: Said
    loops: tuple[str, ...] = ()
    chain: Chain | None = None
    branch_of: Chain | None = None
    is_loop: bool = False


@dataclass(frozen=True)
class LoopHead:
    """A loop that a condition ends, or that has no upper bound.

    Attributes:
        condition: what holds as long as it goes on, or None.
        is_bounded: whether it has an upper bound.
        where: its place.
    """

    condition: Expression | None
    is_bounded: bool
    where: SourceLocation | None


@dataclass
class OpenBlocks:
    """The loops and conditions that are open, and the nests that there were.

    Attributes:
        parts: the instructions, in order, with beginnings and ends of loops.
        nests: the inames of each nest of loops, outermost first.
    """

    parts: list[Part] = field(default_factory=list[Part])
    nests: dict[tuple[str, ...], None] = field(default_factory=new_dict)
    _heads: dict[str, LoopHead] = field(default_factory=new_dict)
    _opened: set[str] = field(default_factory=new_set)
    _ended: set[str] = field(default_factory=new_set)  # loops that a condition ends
    _reduced: set[str] = field(default_factory=new_set)  # loops that were reduced over while open
    _open: list[_Block] = field(default_factory=lambda: [_Block(Said())])
    _around: set[tuple[str, str]] = field(default_factory=new_set)
    _chains: int = 0

    @property
    def loops(self) -> tuple[str, ...]:
        """The inames of the open loops, outermost first."""
        return self._open[-1].loops

    def said(self) -> Said | None:
        """Return what holds of an instruction that stands here; None if nothing does.

        What is added ends the conditions before it: `otherwise` cannot follow any more.
        """
        self._open[-1].chain = None
        return self._open[-1].said if len(self._open) > 1 else None

    @property
    def chain(self) -> Chain | None:
        """The condition that `otherwise` would continue here; None if there is none."""
        return self._open[-1].chain

    def go_on(self, chain: Chain | None) -> None:
        """Let `otherwise` continue a condition, whatever was added after its block."""
        self._open[-1].chain = chain

    def add_head(self, iname: str, head: LoopHead) -> None:
        """Keep what was said of a loop until it is opened."""
        self._heads[iname] = head

    def open_loop(self, iname: str) -> None:
        """Go into a loop.

        Raises:
            InvalidArgument: if it is open already, if the loop inside of which it would be was
                inside of it elsewhere, or if a condition ends it and it was open before.
        """
        here = self._open[-1]
        if iname in here.loops:
            raise InvalidArgument(
                f"the loop '{iname}' is open already",
                where=caller_location(),
                remedy="leave out this 'with'; a second loop over the same values is another "
                "builder.loop(...)",
            )
        if turned := [outer for outer in here.loops if (iname, outer) in self._around]:
            raise InvalidArgument(
                f"the loop '{iname}' is opened inside of '{turned[0]}', which was inside of "
                f"'{iname}' elsewhere: each is one loop, and one is outside",
                where=caller_location(),
                remedy="make another loop over the same values: builder.loop(...)",
            )
        if iname in self._ended:
            raise _opened_again(iname)
        here.chain = None
        self._begin(iname, here.said)
        self._around.update((outer, iname) for outer in here.loops)
        loops = (*here.loops, iname)
        if here.loops:
            self.nests.pop(here.loops, None)
            self.nests[loops] = None
        inside = here.said.more_inames | {iname}
        said = replace(here.said, more_inames=inside, is_in_for=True)
        self._open.append(_Block(said, loops, is_loop=True))

    def _begin(self, iname: str, outside: Said) -> None:
        """Add the beginning of a loop."""
        head = self._heads.get(iname, _PLAIN)
        line = f"for {iname}"
        if head.condition is not None:
            self._ended.add(iname)
            line += f" while {show_expression(head.condition)}"
        self._opened.add(iname)
        self.parts.append(LoopBegin((iname,), head.condition, outside, line, head.where))

    def add_break(self, condition: Expression | None) -> None:
        """Let a condition end the innermost of the open loops.

        Parameters:
            condition: None to end it wherever this is executed.

        Raises:
            InvalidArgument: if no loop is open, or if the loop cannot be ended.
        """
        here = self._open[-1]
        if not here.loops:
            raise InvalidArgument(
                "'break_' stands in no loop",
                where=caller_location(),
                remedy="call it inside of 'with builder.loop(...):'",
            )
        iname = here.loops[-1]
        self._check_can_end(iname)
        here.chain = None
        self._ended.add(iname)
        line = "break" if condition is None else f"break if {show_expression(condition)}"
        self.parts.append(Break(condition, here.said, line, place_here()))

    def _check_can_end(self, iname: str) -> None:
        """Check that a condition may end an open loop."""
        begun = [p for p in self.parts if isinstance(p, LoopBegin) and p.inames == (iname,)]
        if len(begun) > 1:
            raise _opened_again(iname)
        if iname in self._reduced:
            raise _reduced_over(iname)

    def check_reduced(self, inames: frozenset[str]) -> None:
        """Check that an instruction may reduce over open loops, and so stand before them.

        Raises:
            InvalidArgument: if a condition ends one of them.
        """
        for iname in sorted(inames & self._ended):
            raise _reduced_over(iname)
        self._reduced |= inames

    def check_ends(self) -> None:
        """Check that loops end, and that what was said of their ends is asked.

        Raises:
            UnboundedDomain: if one has neither an upper bound nor a condition that ends it.
            InvalidArgument: if one has a condition, and was never opened.
        """
        for iname, head in self._heads.items():
            if head.condition is not None and iname not in self._opened:
                raise InvalidArgument(
                    f"the loop '{iname}' goes on while a condition holds, and was never opened",
                    where=head.where,
                    remedy="open it: with builder.loop(...): what stands inside asks the condition",
                )
            if not head.is_bounded and iname not in self._ended:
                raise UnboundedDomain(
                    f"the loop '{iname}' has no upper bound, and no condition ends it",
                    where=head.where,
                    remedy="pass an upper bound, or while_=...; or call builder.break_(...) inside",
                )

    def open_branch(self, condition: Expression | None, *, first: bool) -> None:
        """Go into what is executed if a condition holds, and those before it do not.

        Parameters:
            condition: None for an ``else``.
            first: whether no condition is before it.

        Raises:
            InvalidArgument: if conditions should be before it, and are not.
        """
        here = self._open[-1]
        chain = here.chain
        if first:
            chain = Chain(self._chains)
            self._chains += 1
        if chain is None or chain.complete:
            raise InvalidArgument(
                "'otherwise' does not follow a condition"
                if chain is None
                else "'otherwise' follows an 'otherwise' that has no condition",
                where=caller_location(),
                remedy="write it right behind the block of 'with builder.when(...)', or of "
                "'otherwise' with a condition",
            )
        here.chain = None
        conditions = () if condition is None else (condition,)
        said = chain.branch(conditions).inside(here.said)
        self._open.append(_Block(said, here.loops, branch_of=chain))

    def open_options(self, said: Said) -> None:
        """Go into what has some options."""
        here = self._open[-1]
        here.chain = None
        self._open.append(_Block(said.inside(here.said), here.loops))

    def close(self) -> None:
        """Leave what was opened last."""
        closed = self._open.pop()
        self._open[-1].chain = closed.branch_of
        if closed.is_loop:
            self.parts.append(LoopEnd())


_PLAIN = LoopHead(None, is_bounded=True, where=None)


def place_here() -> SourceLocation | None:
    """Return the place of what is said now, as later errors show it.

    Later, no traceback shows the line of the call: so errors show it themselves.
    """
    where = caller_location()
    return None if where is None else replace(where, is_call=False)


def _opened_again(iname: str) -> InvalidArgument:
    return InvalidArgument(
        f"a condition ends the loop '{iname}', which is opened twice",
        where=caller_location(),
        remedy="open it once; a second loop over the same values is another builder.loop(...)",
    )


def _reduced_over(iname: str) -> InvalidArgument:
    return InvalidArgument(
        f"a condition ends the loop '{iname}', and an instruction inside reduces over it",
        where=caller_location(),
        remedy="reduce over a loop of its own: builder.sum('j', 0, n, lambda j: x[j])",
    )
