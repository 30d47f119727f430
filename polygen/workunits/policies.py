"""Execution policies: which work a dispatch has, and how it is divided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from polygen.errors import InvalidArgument, PolicyMismatch
from polygen.source import caller_location
from polygen.workunits.constructs import construct
from polygen.workunits.spaces import ExecutionSpace, ExecutionSpaceInstance


class Iterate(Enum):
    """The order of a policy's indices: the first, the last, or polygen's choice runs fastest."""

    Left = "Left"
    Right = "Right"
    Default = "Default"


@dataclass(frozen=True)
class Rank:
    """The number of indices of a policy, and their orders.

    Attributes:
        n: how many indices there are, up to 6.
        iter_outer: the order of tiles.
        iter_inner: the order in a tile.
    """

    n: int
    iter_outer: Iterate = Iterate.Default
    iter_inner: Iterate = Iterate.Default


class _Auto:
    def __repr__(self) -> str:
        return "AUTO"


AUTO = _Auto()
_MOST_INDICES = 6


class RangePolicy:
    """The integers from `begin` to below `end`: ``RangePolicy([space], begin, end)``.

    Attributes:
        space: where it runs.
        instance: that with a stream; None without one.
        begin, end: the bounds.

    >>> import polygen.workunits as pk
    >>> pk.RangePolicy(pk.Serial, 0, 10).end
    10
    """

    __slots__ = ("begin", "end", "instance", "space")

    def __init__(self, *given: Any, begin: Any = None, end: Any = None, space: Any = None) -> None:
        self.space, bounds = _space_and(given, space)
        self.instance = _instance(given, space)
        values = [*bounds, *[one for one in (begin, end) if one is not None]]
        if len(values) != 2:
            raise InvalidArgument(
                f"RangePolicy is given {len(values)} bounds, and has two",
                where=caller_location(),
                remedy="RangePolicy(begin, end), or RangePolicy(space, begin, end)",
            )
        self.begin, self.end = (_integer(one, "a bound") for one in values)

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The bounds of each index."""
        return ((self.begin, self.end),)


class MDRangePolicy:
    """The points of a box: ``MDRangePolicy(begin, end)`` with a bound for each index.

    Attributes:
        space: where it runs.
        instance: that with a stream; None without one.
        begin, end: the bounds of each index.
        tiling: the extents of tiles, a wish: polygen chooses them.
        rank: the number of indices, with orders, a wish too.

    >>> import polygen.workunits as pk
    >>> pk.MDRangePolicy([0, 0], [3, 4]).ranges
    ((0, 3), (0, 4))
    """

    __slots__ = ("begin", "end", "instance", "rank", "space", "tiling")

    def __init__(
        self,
        *given: Any,
        begin: Sequence[int] | None = None,
        end: Sequence[int] | None = None,
        tiling: Sequence[int] | None = None,
        space: Any = None,
        iter_outer: Iterate = Iterate.Default,
        iter_inner: Iterate = Iterate.Default,
        rank: Rank | None = None,
    ) -> None:
        self.space, others = _space_and(given, space)
        self.instance = _instance(given, space)
        named = [one for one in (begin, end, tiling) if one is not None]
        bounds = [*[one for one in others if not isinstance(one, Rank)], *named]
        ranks = [one for one in others if isinstance(one, Rank)]
        if not 2 <= len(bounds) <= 3:
            raise InvalidArgument(
                "MDRangePolicy is given no two lists of bounds",
                where=caller_location(),
                remedy="MDRangePolicy([0, 0], [n, m])",
            )
        self.begin = tuple([_integer(one, "a bound") for one in bounds[0]])
        self.end = tuple([_integer(one, "a bound") for one in bounds[1]])
        self.tiling = tuple(bounds[2]) if len(bounds) == 3 else None
        self.rank = rank or (ranks[0] if ranks else Rank(len(self.begin), iter_outer, iter_inner))
        self._check()

    def _check(self) -> None:
        count = len(self.begin)
        if not 1 <= count <= _MOST_INDICES or len(self.end) != count or self.rank.n != count:
            raise PolicyMismatch(
                f"MDRangePolicy has {count} lower bounds, {len(self.end)} upper bounds and the "
                f"rank {self.rank.n}: there are as many of each, from 1 to {_MOST_INDICES}",
                where=caller_location(),
                remedy="give each index a lower and an upper bound",
            )
        if self.tiling is not None and len(self.tiling) != count:
            raise PolicyMismatch(
                f"MDRangePolicy has {count} indices, and tiles with {len(self.tiling)} extents",
                where=caller_location(),
                remedy="give each index an extent of tiles, or leave the tiling out",
            )

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The bounds of each index."""
        return tuple(zip(self.begin, self.end, strict=True))


@construct("per team")
@dataclass(frozen=True)
class PerTeam:
    """A part that each team has, or does once.

    Attributes:
        value: bytes of scratch memory, or the team member.
    """

    value: Any = None


@dataclass(frozen=True)
class PerThread:
    """A part that each thread of a team has, or does once.

    Attributes:
        value: bytes of scratch memory, or the team member.
    """

    value: Any = None


class TeamPolicy:
    """A league of teams: ``TeamPolicy([space], league_size, team_size[, vector_length])``.

    Attributes:
        space: where it runs.
        instance: that with a stream; None without one.
        league_size: the number of teams.
        team_size: the number of threads of each; 1 where polygen chooses (`AUTO`).
        vector_length: lanes of each thread, a wish: polygen chooses them.
        scratch: bytes of scratch memory by level, as `set_scratch_size` set them.

    >>> import polygen.workunits as pk
    >>> pk.TeamPolicy(100, pk.AUTO).team_size
    1
    """

    __slots__ = ("instance", "league_size", "scratch", "space", "team_size", "vector_length")

    def __init__(self, *given: Any, space: Any = None, league_size: Any = None,
                 team_size: Any = None, vector_length: Any = None) -> None:  # fmt: skip
        self.space, sizes = _space_and(given, space)
        self.instance = _instance(given, space)
        values = [*sizes, *[o for o in (league_size, team_size, vector_length) if o is not None]]
        if not 2 <= len(values) <= 3:
            raise InvalidArgument(
                f"TeamPolicy is given {len(values)} sizes, and has two or three",
                where=caller_location(),
                remedy="TeamPolicy(league_size, AUTO), or TeamPolicy(league_size, team_size)",
            )
        self.league_size = _integer(values[0], "the league size")
        self.team_size = 1 if values[1] is AUTO else _integer(values[1], "the team size")
        self.vector_length = 1 if values[2:] in ([], [AUTO]) else _integer(values[2], "a length")
        self.scratch: dict[int, int] = {}
        if self.team_size < 1 or self.vector_length < 1:
            raise InvalidArgument(
                f"a team has {self.team_size} threads with {self.vector_length} lanes",
                where=caller_location(),
                remedy="pass AUTO, or numbers from 1 on",
            )

    def set_scratch_size(self, level: int, *sizes: PerTeam | PerThread) -> TeamPolicy:
        """Say how many bytes of scratch memory teams have, and return the policy.

        Parameters:
            level: 0 or 1.
            sizes: bytes for a team, or for each of its threads.

        Raises:
            InvalidArgument: for another level.
        """
        if level not in (0, 1):
            raise InvalidArgument(
                f"scratch memory has the levels 0 and 1, and no level {level}",
                where=caller_location(),
                remedy="pass 0 for the fast and small one, 1 for the large one",
            )
        self.scratch[level] = sum(
            int(one.value) * (self.team_size if isinstance(one, PerThread) else 1) for one in sizes
        )
        return self


@construct("thread range")
@dataclass
class TeamThreadRange:
    """The work that the threads of a team share: ``TeamThreadRange(member, [begin,] end)``."""

    member: Any
    bounds: tuple[int, int] = field(init=False)

    def __init__(self, member: Any, *bounds: int) -> None:
        self.member = member
        self.bounds = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The bounds of each index."""
        return (self.bounds,)


@construct("vector range")
class ThreadVectorRange(TeamThreadRange):
    """The work that the lanes of a thread share."""


@construct("thread range")
class TeamVectorRange(TeamThreadRange):
    """The work that all lanes of all threads of a team share."""


@construct("thread box")
@dataclass
class TeamThreadMDRange:
    """Boxes of work that the threads of a team share: ``TeamThreadMDRange(member, n, m)``."""

    member: Any
    extents: tuple[int, ...] = field(init=False)

    def __init__(self, member: Any, *extents: int) -> None:
        self.member, self.extents = member, extents

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """The bounds of each index."""
        return tuple([(0, extent) for extent in self.extents])


Policy = RangePolicy | MDRangePolicy | TeamPolicy


def policy_of(given: Any) -> Policy:
    """Return a policy: the integers below a number, if one is given.

    Parameters:
        given: a policy or an integer.

    Raises:
        InvalidArgument: if it is neither.
    """
    if isinstance(given, RangePolicy | MDRangePolicy | TeamPolicy):
        return given
    if hasattr(given, "__index__"):
        return RangePolicy(0, given)
    raise InvalidArgument(
        f"{given!r} is no execution policy",
        where=caller_location(),
        remedy="pass a number of iterations, RangePolicy, MDRangePolicy or TeamPolicy",
    )


def _space_and(given: Sequence[Any], named: Any) -> tuple[ExecutionSpace, list[Any]]:
    """Return the space among arguments, and the others."""
    space = getattr(named, "space", named)
    others = list(given)
    if others and isinstance(getattr(others[0], "space", others[0]), ExecutionSpace):
        first = others.pop(0)
        space = getattr(first, "space", first)
    spaces = [o for o in others if isinstance(o, ExecutionSpace)]
    others = [o for o in others if not isinstance(o, ExecutionSpace)]
    return (space or (spaces[0] if spaces else ExecutionSpace.Default)), others


def _instance(given: Sequence[Any], named: Any) -> ExecutionSpaceInstance | None:
    """Return the space with a stream among arguments."""
    found = [one for one in (*given, named) if isinstance(one, ExecutionSpaceInstance)]
    return found[0] if found else None


def _integer(value: Any, what: str) -> int:
    try:
        return int(value.__index__())
    except AttributeError:
        raise InvalidArgument(
            f"{what} of a policy is {value!r}, which is no integer",
            where=caller_location(),
            remedy="pass an integer",
        ) from None
