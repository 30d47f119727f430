"""Random kernels, most of them ill formed: what is accepted leaves one result, whatever the order.

And what is refused has a reason that can be seen.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import polygen as pg
from polygen.errors import (
    DependencyCycle,
    NestingDecides,
    NoLoopNest,
    OutOfBounds,
    UninitializedRead,
    UnorderedAccess,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import kernel
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret
from tests.proof.faults import faults
from tests.proof.test_well_formed import nests

QUICK, BATCH = 80, 40
SPACES = tuple(pg.AddressSpace)
DOMAINS = ("{ [i]: 0<=i<n }", "{ [i]: 1<=i<=n }", "{ [i]: 0<=i<4 }")
INNER = ("0<=j<n", "0<=j<=i", "0<=j<3", "i<=j<4", "j=i")
SUBSCRIPTS = (
    "{x}", "{x}", "{x}", "{x}+1", "{x}-1", "n-{x}", "{x}//2", "2*{x}", "{x}%2", "1", "{x}+{y}",
    "{x}-{y}+4", "{y}",
)  # fmt: skip


class Maker:
    """Makes a kernel of which everything is left to chance."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._first: list[str] = []
        self._inames = ("i", "j")[: self._random.choice((1, 2, 2))]

    def kernel(self) -> Kernel:
        """Return it, unproved."""
        r = self._random
        domains = [r.choice(DOMAINS), f"{{ [k]: 0<=k<{r.choice((4, 9, 9))} }}"]
        if "j" in self._inames:
            domains.append(f"{{ [j]: {r.choice(INNER)} }}")
        lines = ["t = 1  {id=t, inames=, dep=*}", "v[k] = a[k]  {id=v, inames=k, dep=*}"]
        lines = [line for line in lines if r.random() < 0.9]
        self._first = [line[0] for line in lines]
        lines += [self._line(number) for number in range(r.choice((1, 2, 2, 3)))]
        extents = [r.choice(("n+9", "9", "n")) for _ in "ab"]
        data: list[Any] = [
            pg.GlobalArg(*x) for x in zip("ab", ("float64",) * 2, extents, strict=True)
        ]
        data.append(pg.TemporaryVariable("t", "float64", (), r.choice(SPACES)))
        data.append(pg.TemporaryVariable("v", "float64", (9,), r.choice(SPACES)))
        tags = {i: r.choice(("g.0", "l.0")) for i in self._inames if r.random() < 0.2}
        if len(set(tags.values())) < len(tags):
            tags = {}
        with pg.without_proofs():
            knl = kernel(domains, "\n".join(lines), *data, "...", assumptions="0 <= n <= 4")
            return pg.tag_inames(knl, tags)

    def _line(self, number: int) -> str:
        r = self._random
        inames = self._inames[: r.choice((0, 1, 2, 2))]
        terms = [self._place(inames) for _ in range(r.choice((1, 2)))]
        before = [f"s{d}" for d in range(number) if r.random() < 0.85]
        before += [name for name in self._first if r.random() < 0.9]
        options = f"id=s{number}, inames={':'.join(inames)}, dep=*{':'.join(before)}"
        if inames and r.random() < 0.2:
            options += f", if={r.choice(inames)} {r.choice(('< 2', '> 0', '== 1'))}"
        return f"{self._place(inames)} = {' + '.join(terms)} + {number + 1}  {{{options}}}"

    def _place(self, inames: tuple[str, ...]) -> str:
        r = self._random
        name = r.choice("aaabbbtv")
        if name == "t":
            return name
        text = r.choice(SUBSCRIPTS) if inames else r.choice(("0", "1", "n"))
        return f"{name}[{text.format(x=r.choice(inames or ('',)), y=r.choice(inames or ('',)))}]"


def _calls(knl: Kernel) -> Iterator[Mapping[str, Any]]:
    for n in (0, 1, 2, 4):
        yield make_arguments(knl, {"n": n}, n)


def _executions(knl: Kernel, arguments: Mapping[str, Any]) -> tuple[int, bool]:
    """Return how many different results a call has, and whether anything went wrong."""
    found: set[str] = set()
    wrong = False
    for nested in nests(knl):
        for seed in range(5):
            if faults(nested, arguments, seed):
                wrong = True
            else:
                arrays = interpret(nested, arguments, seed).arrays
                found.add(repr([(n, a.tolist()) for n, a in sorted(arrays.items())]))
    return len(found), wrong


def _check(seeds: range) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        knl = Maker(seed).kernel()
        try:
            pg.check_well_formed(knl)
        except (DependencyCycle, NoLoopNest):
            continue
        except (OutOfBounds, UninitializedRead, UnorderedAccess, NestingDecides) as error:
            kind: type[pg.IllFormedKernel] | None = type(error)
        else:
            kind = None
        with pg.without_proofs():
            results = [_executions(typed(knl, a), a) for a in _calls(knl)]
        several, wrong = (any(count > 1 for count, _ in results), any(w for _, w in results))
        if kind is None:
            assert not several, f"seed {seed}: {knl}"
            assert not wrong, f"seed {seed}: {knl}"
            found["accepted"] += 1
        elif kind in (OutOfBounds, UninitializedRead):
            assert wrong, f"seed {seed}: {knl}"
            found["refused, seen to be wrong"] += 1
        else:
            found[f"refused, {'' if several or wrong else 'not '}seen to be wrong"] += 1
    return found


@few(1, "start", [0, *range(BATCH, QUICK, BATCH)])
def test_what_is_accepted_has_one_result(start: int) -> None:
    found = _check(range(start, start + BATCH))
    assert found["accepted"] > BATCH // 6
    # Small sizes do not show everything, nor what nothing reads, or is overwritten.
    assert found["refused, seen to be wrong"] > 5 * found["refused, not seen to be wrong"]


@pytest.mark.deep
@pytest.mark.parametrize("start", (QUICK, *range(50_000, 56_000, 250)))
def test_thousands_of_kernels(start: int) -> None:
    assert _check(range(start, start + 250))["accepted"] > 20


def test_a_check_that_sees_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("check_order", "check_cover", "check_bounds"):
        with monkeypatch.context() as patch:
            patch.setattr(f"polygen.analysis.wellformed.check.{name}", lambda *_: ())
            with pytest.raises(AssertionError, match="seed"):
                _check(range(BATCH, 2 * BATCH))  # a few are enough
