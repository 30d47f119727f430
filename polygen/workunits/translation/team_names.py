"""The names that statements of a work unit have for facts of its team member."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TeamNames:
    """A team member, and the names of what it tells.

    Attributes:
        member: the parameter of the work unit.
        league_rank, league_size: variables of the team.
        team_rank: the variable of the thread; it has none in a team of one.
        size: how many threads a team has.
    """

    member: str
    league_rank: str
    league_size: str
    team_rank: str
    size: int
