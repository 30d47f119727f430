"""Random queries for the instructions of random kernels, and what they mean."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import resources

import lark
import pytest

import polygen as pg
from polygen.errors import NothingMatches
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.language.within import matching
from tests.random_kernels.maker import random_maker

KERNELS, EACH = 40, 12
KINDS = ("id", "tag", "reads", "writes", "iname")


@dataclass(frozen=True)
class Query:
    """A query, whether an instruction is meant, and how strongly its text binds: 0 for ``or``."""

    text: str
    means: Callable[[Instruction], bool]
    level: int


def names(kernel: Kernel, insn: Instruction, kind: str) -> set[str]:
    """Return the names that an instruction has of a kind."""
    if kind == "id":
        return {insn.id}
    if kind == "tag":
        return set(insn.tags)
    if kind == "iname":
        return set(insn.within_inames)
    if kind == "writes":
        return set(insn.written_names)
    whole = kernel.without_rules.instructions_by_id[insn.id]
    parts = (part for node in whole.reads for part in walk.subexpressions(node))
    found = {part.name for part in parts if isinstance(part, ex.Variable)}
    if isinstance(insn, CInstruction):
        found |= insn.read_variables
    return found & kernel.variables.keys()


def pattern(r: random.Random, name: str) -> str:
    """Return a name, or a pattern that it fits."""
    at = r.randrange(len(name))
    return r.choice((name, name, name[:at] + "*", f"*{name[at:]}", f"{name[:at]}?{name[at + 1 :]}"))


def fits(name: str, pattern: str) -> bool:
    return bool(re.fullmatch(pattern.replace("*", ".*").replace("?", "."), name))


class Queries:
    """Makes queries for a kernel."""

    def __init__(self, kernel: Kernel, seed: int) -> None:
        self._kernel, self._random = kernel, random.Random(seed)
        self._names = {
            kind: sorted({n for insn in kernel.instructions for n in names(kernel, insn, kind)})
            for kind in KINDS
        }

    def one(self, depth: int) -> Query:
        """Return a query."""
        r = self._random
        if depth == 0 or r.random() < 0.2:
            return self._having()
        if r.random() < 0.3:
            inner = self.one(depth - 1)
            return Query(f"not {_within(inner, 2)}", lambda i: not inner.means(i), 2)
        parts = [self.one(depth - 1) for _ in range(r.choice((2, 2, 3)))]
        if r.random() < 0.5:
            text = " or ".join(_within(p, 1) for p in parts)
            return Query(text, lambda i: any(p.means(i) for p in parts), 0)
        text = " and ".join(_within(p, 2) for p in parts)
        return Query(text, lambda i: all(p.means(i) for p in parts), 1)

    def _having(self) -> Query:
        r = self._random
        kind = r.choice([kind for kind in KINDS if self._names[kind]])
        wanted = pattern(r, r.choice(self._names[kind]))
        bare = kind == "id" and r.random() < 0.5
        text = wanted if bare else f"{kind}{r.choice((':', ' : '))}{wanted}"
        return Query(text, lambda i: any(fits(n, wanted) for n in names(self._kernel, i, kind)), 3)


def _within(query: Query, level: int) -> str:
    return query.text if query.level >= level else f"({query.text})"


@cache
def made() -> list[tuple[Kernel, Query]]:
    """Return queries with their kernels, of which those that are called are known."""
    found: list[tuple[Kernel, Query]] = []
    for seed in range(KERNELS):
        with pg.without_proofs():
            kernel = random_maker(seed).kernel()
        queries = Queries(kernel, seed)
        for _ in range(EACH):
            found.append((kernel, queries.one(3)))
    return found


def test_queries_mean_what_they_say() -> None:
    nothing = 0
    for kernel, query in made():
        expected = [insn.id for insn in kernel.instructions if query.means(insn)]
        if expected:
            assert [insn.id for insn in matching(kernel, query.text)] == expected, query.text
            continue
        nothing += 1
        with pytest.raises(NothingMatches):
            matching(kernel, query.text)
    assert nothing < KERNELS * EACH // 2


def test_all_of_the_grammar_is_there() -> None:
    text = resources.files("polygen.language").joinpath("query.lark").read_text(encoding="utf-8")
    parser = lark.Lark(text, parser="lalr", start="query")
    wanted = set(re.findall(r"-> (\w+)$", text, re.MULTILINE))
    assert len(wanted) == 4
    seen = [{str(t.data) for t in parser.parse(q.text).iter_subtrees()} for _, q in made()]
    assert all(sum(name in each for each in seen) > 20 for name in wanted)
    assert all(sum(f"{kind}:" in q.text for _, q in made()) > 5 for kind in KINDS)
