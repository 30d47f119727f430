"""The loops and conditions that are open in a `polygen.Builder`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from polygen.errors import InvalidArgument
from polygen.ir.empty import new_dict, new_set
from polygen.ir.expression import Expression
from polygen.language.blocks import Chain
from polygen.language.said import Said
from polygen.source import caller_location


@dataclass
class _Block:
    """A loop or a condition that is open.

    Attributes:
        said: what holds of instructions inside.
        loops: the inames of the open loops, outermost first.
        chain: the condition that was closed last in here, which `otherwise` continues; None if
            something came after it.
        branch_of: the condition that this is a branch of; None for a loop.
    """

    said: Said
    loops: tuple[str, ...] = ()
    chain: Chain | None = None
    branch_of: Chain | None = None


@dataclass
class OpenBlocks:
    """The loops and conditions that are open, and the nests that there were.

    Attributes:
        nests: the inames of each nest of loops, outermost first.
    """

    nests: dict[tuple[str, ...], None] = field(default_factory=new_dict)
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

    def open_loop(self, iname: str) -> None:
        """Go into a loop.

        Raises:
            InvalidArgument: if it is open already, or if the loop inside of which it would be was
                inside of it elsewhere.
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
        here.chain = None
        self._around.update((outer, iname) for outer in here.loops)
        loops = (*here.loops, iname)
        if here.loops:
            self.nests.pop(here.loops, None)
            self.nests[loops] = None
        inside = here.said.more_inames | {iname}
        self._open.append(_Block(replace(here.said, more_inames=inside, is_in_for=True), loops))

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

    def close(self) -> None:
        """Leave what was opened last."""
        chain = self._open.pop().branch_of
        self._open[-1].chain = chain
