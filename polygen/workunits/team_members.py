"""Members of teams while work units run as plain Python.

Each thread of a team is a thread of Python's, of which one runs at a time, the others wait: by
rank up to the next place where they come together, so that every run is the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from polygen.errors import ThreadsPart
from polygen.source import caller_location


class TeamMember:
    """A thread of a team.

    Parameters:
        league_rank: which team it is of.
        league_size: how many teams there are.
        rank: which thread of the team it is.
        team: the team; None for one of a single thread.
    """

    def __init__(
        self, league_rank: int = 0, league_size: int = 1, rank: int = 0, team: Team | None = None
    ) -> None:
        self._league_rank, self._league_size = league_rank, league_size
        self._rank, self._team = rank, team
        self._scratch = 0

    def league_rank(self) -> int:
        """Return which team this is."""
        return self._league_rank

    def league_size(self) -> int:
        """Return how many teams there are."""
        return self._league_size

    def team_rank(self) -> int:
        """Return which thread of the team this is."""
        return self._rank

    def team_size(self) -> int:
        """Return how many threads the team has."""
        return self._team.size if self._team is not None else 1

    def team_barrier(self) -> None:
        """Wait for the other threads of the team."""
        if self._team is not None:
            self._team.meet(self._rank)

    def team_scratch(self, level: int) -> Any:
        """Return the scratch memory of the team, which scratch views are made in."""
        return self, level

    def thread_scratch(self, level: int) -> Any:
        """Return the scratch memory of the thread, which scratch views are made in."""
        return None, level

    def allocate(self, make: Callable[[], Any]) -> Any:
        """Return an array of the team: the same one for the same allocation of each thread.

        Parameters:
            make: returns a new array.
        """
        if self._team is None:
            return make()
        self._scratch += 1
        return self._team.scratch.setdefault(self._scratch, make())

    def share(self, count: int) -> range:
        """Return this thread's part of so many iterations: those in a row, by rank."""
        size = self.team_size()
        return range(count * self._rank // size, count * (self._rank + 1) // size)

    def together(self, value: Any) -> list[Any]:
        """Return what all threads of the team have, by rank.

        Parameters:
            value: what this one has.
        """
        if self._team is None:
            return [value]
        self._team.values[self._rank] = value
        self.team_barrier()
        found = [self._team.values[rank] for rank in range(self._team.size)]
        self.team_barrier()
        return found


class Team:
    """The threads of a team, of which one runs at a time.

    Attributes:
        size: how many there are.
        scratch: arrays in the scratch memory of the team.
        values: what each thread tells the others.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.scratch: dict[int, Any] = {}
        self.values: dict[int, Any] = {}
        self._condition = threading.Condition()
        self._turn = 0
        self._ended: set[int] = set()
        self._met: set[int] = set()
        self._error: BaseException | None = None
        self._where = caller_location()

    def run(self, works: Sequence[Callable[[], None]]) -> None:
        """Run what each thread does.

        Raises:
            ThreadsPart: if a thread ends while others wait for it.
        """
        threads = [
            threading.Thread(target=self._one, args=(rank, work), daemon=True)
            for rank, work in enumerate(works)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        if self._error is not None:
            raise self._error

    def _one(self, rank: int, work: Callable[[], None]) -> None:
        with self._condition:
            try:
                self._wait(rank)
                work()
            except BaseException as error:
                self._error = self._error or error
            self._ended.add(rank)
            if self._met and self._error is None:
                self._error = self._parted()
            self._turn = rank + 1
            self._condition.notify_all()

    def meet(self, rank: int) -> None:
        """Let the other threads run up to here."""
        if self._ended:
            raise self._parted()
        self._met.add(rank)
        self._turn = rank + 1
        if len(self._met) == self.size:
            self._met.clear()
            self._turn = 0
        self._condition.notify_all()
        self._wait(rank)

    def _wait(self, rank: int) -> None:
        self._condition.wait_for(lambda: self._turn == rank or self._error is not None)
        if self._error is not None:
            raise self._error

    def _parted(self) -> ThreadsPart:
        return ThreadsPart(
            "a thread of a team has ended, and others wait for it at a barrier",
            where=self._where,
            remedy="let all threads come to each barrier, and to the work that they share",
        )
