"""Default inames and dependencies of instructions.

The third and fourth rule of polygen's ordering: a reader of a variable that one instruction
writes depends on it, and inherits those of its inames that the written subscripts do not mention.
"""

from __future__ import annotations

import graphlib
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from polygen.errors import (
    DependencyCycle,
    MalformedKernel,
    UnknownInstruction,
    UnknownName,
    did_you_mean,
)
from polygen.ir.domain import Domain
from polygen.ir.empty import NO_NAMES
from polygen.language.named_statement import NamedStatement
from polygen.language.parser import located
from polygen.language.queries import Described, find
from polygen.source import caller_location, together


class Defaults:
    """Inames and dependencies of all instructions.

    Parameters:
        named: the instructions.
        domains: the loop domains.
        temporaries: the names of all temporaries.
        sequential: whether instructions come in the order in which they are written; then none
            follows from what they read.

    Attributes:
        within_inames: by id.
        depends_on: by id.
        no_sync_with: by id.

    Raises:
        UnknownInstruction: if a dependency names no instruction.
        UnknownName: if ``conflicts=`` names a group that has no instructions.
        DependencyCycle: if instructions have to come before each other.
        MalformedKernel: if ``inames=`` leaves out an iname that another one's domain needs.
    """

    def __init__(
        self,
        named: Sequence[NamedStatement],
        domains: Sequence[Domain],
        temporaries: Collection[str],
        *,
        sequential: bool,
    ) -> None:
        self._named = {one.id: one for one in named}
        self._temporaries = frozenset(temporaries)
        self._homes = {iname: domain for domain in domains for iname in domain.inames}
        self._needed_inames, self._needed_temporaries = _needs(self._homes, temporaries)
        self._writers: dict[str, list[str]] = {}
        for one in named:
            for name in dict.fromkeys(one.written):
                self._writers.setdefault(name, []).append(one.id)
        self._position = {d.id: p for p, d in enumerate(named)} if sequential else {}
        self._given = {d.id: self._given_dependencies(d) for d in named}
        if sequential:
            for first, second in pairwise(named):
                self._given[second.id] |= {first.id}
        _check_groups(named)
        self.no_sync_with = {d.id: self._no_sync(d) for d in named}
        self.within_inames = self._active_inames()
        self._add_queried()
        for one in named:
            self._check_explicit(one)
        self.depends_on = {
            d.id: self._given[d.id].union(
                writer for writer, _ in self._automatic(d, self.within_inames[d.id])
            )
            for d in named
        }
        self._check_order()

    # --- inames

    def _active_inames(self) -> dict[str, frozenset[str]]:
        within = {
            d.id: d.reads.intersection(self._homes) | d.statement.more_inames
            if (given := d.statement.all_inames) is None
            else given
            for d in self._named.values()
        }
        readers = self._readers()
        self._grow(within, readers, self._named)
        while found := self._between(within):
            for insn_id, iname in found:
                within[insn_id] |= {iname}
            changed = [r for i, _ in found for r in (i, *_readers_of(self._named[i], readers))]
            self._grow(within, readers, dict.fromkeys(changed))
        return within

    def _grow(
        self,
        within: dict[str, frozenset[str]],
        readers: Mapping[str, Sequence[str]],
        changed: Iterable[str],
    ) -> None:
        """Let instructions take over inames, of those that changed and of those that read these."""
        pending = deque(changed)
        queued = set(pending)
        while pending:
            current = pending.popleft()
            queued.discard(current)
            grown = self._grown(self._named[current], within)
            if grown != within[current]:
                within[current] = grown
                new = [r for r in _readers_of(self._named[current], readers) if r not in queued]
                pending += new
                queued.update(new)

    def _between(self, within: Mapping[str, frozenset[str]]) -> list[tuple[str, str]]:
        """Return instructions of a sequence with inames that they have to be within.

        What stands between two instructions of a loop has to be in it. It is taken to be meant
        so if what it uses is computed in the same iteration, or nowhere else.
        """
        ends: dict[str, list[int]] = {}
        for insn_id, position in self._position.items():
            for iname in within[insn_id]:
                ends.setdefault(iname, [position, position])[1] = position
        said = {
            iname
            for one in self._named.values()
            if one.statement.is_in_for
            for iname in one.statement.more_inames
        }
        ids = tuple(self._position)
        return [
            (insn_id, iname)
            for iname, (first, last) in ends.items()
            if iname not in said
            for insn_id in ids[first + 1 : last]
            if iname not in within[insn_id] and self._fits_in(insn_id, iname, within)
        ]

    def _fits_in(self, insn_id: str, iname: str, within: Mapping[str, frozenset[str]]) -> bool:
        """Tell whether an instruction says the same in each iteration as after all of them."""
        one = self._named[insn_id]
        if one.statement.inames is not None or one.statement.is_in_for or not one.written:
            return False
        here = self._position[insn_id]
        follows = False
        for name in one.reads.union(one.written).difference(self._homes):
            others = [w for w in self._writers.get(name, ()) if w != insn_id]
            before = [w for w in others if self._position[w] < here]
            if any(iname not in within[w] - self._named[w].names_in(name) for w in before):
                return False
            follows = follows or bool(before)
            is_carried = name in one.reads and (others or name in one.written)
            if not before and (is_carried or self._is_overwritten(name, one, here)):
                return False
        return follows or self._temporaries.issuperset(one.written)

    def _is_overwritten(self, name: str, one: NamedStatement, here: int) -> bool:
        """Tell whether what is read before is what this instruction writes."""
        named = self._named.values()
        return name in one.written and any(
            name in other.reads and self._position[other.id] < here for other in named
        )

    def _readers(self) -> dict[str, list[str]]:
        """For each variable, the instructions whose inames may depend on its writers'."""
        found: dict[str, list[str]] = {}
        for one in self._named.values():
            for name in one.reads:
                found.setdefault(name, []).append(one.id)
        for name in NO_NAMES.union(*self._needed_temporaries.values()):
            found[name] = list(self._named)
        return found

    def _grown(self, one: NamedStatement, within: Mapping[str, frozenset[str]]) -> frozenset[str]:
        """Return the inames of `one`, if those of the others are as in `within`."""
        inames = within[one.id]
        if one.statement.inames is not None:
            return inames
        while True:
            found = set(inames)
            for iname in inames:
                found |= self._around(iname, within)
            for iname in one.reduced:
                found |= self._around(iname, within) - one.reduced
            inherited = () if one.statement.is_in_for else self._automatic(one, inames)
            for writer, name in inherited:
                found |= within[writer] - self._named[writer].names_in(name)
            if len(found) == len(inames):
                return inames
            inames = frozenset(found)

    def _around(self, iname: str, within: Mapping[str, frozenset[str]]) -> frozenset[str]:
        """Return the inames whose loops the domain of `iname` needs outside, one step far."""
        found = self._needed_inames.get(iname, frozenset())
        for temporary in self._needed_temporaries.get(iname, ()):
            found = found.union(*(within[w] for w in self._writers.get(temporary, ())))
        return found

    def _check_explicit(self, one: NamedStatement) -> None:
        given = one.statement.all_inames
        if given is None:
            return
        for iname in sorted(given | one.reduced):
            around = self._around(iname, self.within_inames) - one.reduced
            if missing := sorted(around - given):
                raise located(
                    MalformedKernel,
                    f"instruction '{one.id}' is not within '{missing[0]}', "
                    f"which the domain of '{iname}' needs",
                    one.statement,
                    0,
                    f"add '{missing[0]}' to its inames=, or leave that option out",
                )

    # --- dependencies

    def _given_dependencies(self, one: NamedStatement) -> frozenset[str]:
        patterns = one.statement.dependencies
        return frozenset([i for p in patterns for i in self._matching(one, p, "dep")])

    def _no_sync(self, one: NamedStatement) -> frozenset[tuple[str, str]]:
        return frozenset(
            [
                (insn_id, scope)
                for pattern, scope in one.statement.no_sync
                for insn_id in self._matching(one, pattern, "nosync")
            ]
        )

    def _add_queried(self) -> None:
        """Add what queries match, which may ask for inames: so none follow from it."""
        for one in self._named.values():
            for query in one.statement.dependency_queries:
                self._given[one.id] |= self._found(one, query)
            for query, scope in one.statement.no_sync_queries:
                found = self._found(one, query)
                self.no_sync_with[one.id] |= {(insn_id, scope) for insn_id in found}

    def _found(self, one: NamedStatement, query: str) -> frozenset[str]:
        """Return the ids of the instructions that a query of `one` matches beside itself."""
        described = {d.id: self._described(d) for d in self._named.values()}
        variables = NO_NAMES.union(*(d.reads | d.writes for d in described.values()))
        others = [d for insn_id, d in described.items() if insn_id != one.id]
        return find(query, others, variables, self._homes, f"the kernel around '{one.id}'")

    def _described(self, one: NamedStatement) -> Described:
        return Described(
            id=frozenset((one.id,)),
            tag=one.statement.tags,
            reads=one.reads.difference(self._homes),
            writes=frozenset(one.written),
            iname=self.within_inames[one.id],
        )

    def _matching(self, one: NamedStatement, pattern: str, option: str) -> list[str]:
        """Return the ids that a pattern in an option of an instruction stands for."""
        if pattern in self._named:
            return [pattern]
        found = (
            [i for i in self._named if fnmatchcase(i, pattern) and i != one.id]
            if "*" in pattern or "?" in pattern
            else []
        )
        if not found:
            says = "depends on" if option == "dep" else "says that it need not wait for"
            raise located(
                UnknownInstruction,
                f"'{one.id}' {says} '{pattern}', but no instruction has such an id",
                one.statement,
                _place_of_dependency(one.statement.text, option, pattern),
                did_you_mean(pattern, self._named),
            )
        return found

    def _automatic(self, one: NamedStatement, inames: frozenset[str]) -> Iterator[tuple[str, str]]:
        """Yield the single writers of what `one` reads, within `inames`, and what that is."""
        reads = one.reads
        if self._needed_temporaries:
            around = inames | one.reduced
            reads = reads.union(*(self._needed_temporaries.get(i, ()) for i in around))
        for name in reads:
            writers = self._writers.get(name, ())
            if len(writers) != 1 or writers[0] == one.id:
                continue
            if self._position and self._position[writers[0]] > self._position[one.id]:
                continue
            if any(first == writers[0] for first, _ in one.statement.related):
                continue  # which instances come before is said
            if not one.statement.exhaustive or writers[0] in self._given[one.id]:
                yield writers[0], name

    def _check_order(self) -> None:
        try:
            graphlib.TopologicalSorter(self.depends_on).prepare()
        except graphlib.CycleError as error:
            raise self._cycle(error.args[1]) from None

    def _cycle(self, ids: list[str]) -> DependencyCycle:
        reasons: list[str] = []
        automatic = False
        for before, after in pairwise(ids):
            if before in self._given[after]:
                reasons.append(f"'{after}' says dep={before}")
            else:
                automatic = True
                read = [n for n in self._named[before].written if n in self._named[after].reads]
                reasons.append(f"'{after}' reads '{(read or self._named[before].written)[0]}'")
        lines = [f"{i}: {self._named[i].statement.text}" for i in ids[:-1]]
        return DependencyCycle(
            "each of these instructions has to come before itself: " + ", ".join(reasons),
            where=together(self._named[i].statement.where for i in ids[:-1]) or caller_location(),
            excerpt="\n".join(lines),
            remedy=self._way_out(automatic),
        )

    def _way_out(self, automatic: bool) -> str:
        """Return what to do about a cycle."""
        if not automatic:
            return "leave out one of these dep="
        written = "" if self._position else _AS_WRITTEN
        return (
            f"{written}a reader of a variable that one instruction writes depends on it; an "
            "exhaustive list of dependencies, such as {dep=*} for none, replaces that"
        )


_AS_WRITTEN = (
    "where they come in the order in which they are written, say seq_dependencies=True, an option "
    "of make_kernel; else, "
)


def _check_groups(named: Iterable[NamedStatement]) -> None:
    known = NO_NAMES.union(*(d.statement.groups for d in named))
    for one in named:
        for name in sorted(one.statement.conflicts - known):
            raise located(
                UnknownName,
                f"'{one.id}' conflicts with the group '{name}', which no instruction is part of",
                one.statement,
                max(0, one.statement.text.rfind(name)),
                did_you_mean(name, known) + f"; groups={name} makes an instruction part of it",
            )


def _readers_of(one: NamedStatement, readers: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the instructions that `readers` has for what `one` writes."""
    for name in one.written:
        yield from readers.get(name, ())


def _needs(
    homes: Mapping[str, Domain], temporaries: Collection[str]
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Return, for each iname, the inames and the temporaries that its domain mentions."""
    inames: dict[str, frozenset[str]] = {}
    scalars: dict[str, frozenset[str]] = {}
    for iname, domain in homes.items():
        if found := frozenset(domain.parameters).intersection(homes):
            inames[iname] = found
        if found := frozenset(p for p in domain.parameters if p in temporaries):
            scalars[iname] = found
    return inames, scalars


def _place_of_dependency(text: str, option: str, pattern: str) -> int:
    match = re.search(rf"{option}\s*=[^,}}]*?(?<![\w.*?]){re.escape(pattern)}(?![\w.*?])", text)
    return match.end() - len(pattern) if match else 0
