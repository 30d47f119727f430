"""Slabs of loops over groups, and copies of these loops on the same axis: none is a false alarm.

Whatever combination of the steps is accepted, lowering makes a loop program of it that validation
takes for the kernel, or says why it cannot.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from contextlib import suppress

import pytest

import polygen as pg
from polygen.errors import InternalError, UserError
from polygen.ir.kernel import Kernel

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.PolygenWarning")

DOMAINS = ("0<=i<n", "2<=i<n", "0<=i<20", "0<=i<m and i<n", "0<=i<n and i!=5")
TEXTS = (
    "b[i] = 2*a[i] {id=s}\nc[i] = b[i] + 1 {id=u, dep=s}",
    "b[i] = 2*a[i] {id=s}\nc[i] = b[n-1-i] + 1 {id=u, dep=s}",
    "<> t = 2*a[i] {id=s}\nc[i] = t + 1 {id=u, dep=s}\nb[i] = t {id=v, dep=s}",
    "b[i] = 2*a[i] {id=s}\nd[i] = a[i+1] {id=u}\nc[i] = b[i] + d[i+1] {id=v, dep=s:u}",
    "b[i] = 2*a[i] {id=s}\ne[i,j] = b[i]*a[j] {id=u, dep=s}\nc[i] = sum(j, e[i,j]) {dep=u}",
    "e[i,j] = a[i]*a[j] {id=s}\nf[i,j] = e[j,i] + 1 {id=u, dep=s}",
)
_Step = Callable[[Kernel], Kernel]


def _kernel(r: random.Random) -> Kernel | None:
    text = r.choice(TEXTS)
    arrays = [
        pg.GlobalArg(name, "float32", "n+64" + ", n+64" * (name in "ef"))
        for name in "abcdef"
        if f"{name}[" in text
    ]
    domains = [f"{{ [i]: {r.choice(DOMAINS)} }}", "{ [j]: 0<=j<n }"][: 1 + ("j" in text)]
    with suppress(UserError):  # some need n <= m, say
        return pg.make_kernel(domains, text, [*arrays, "..."], assumptions="n >= 20 and m >= 3")
    return None


def _changed(knl: Kernel, r: random.Random) -> Kernel:
    """Split the loop over i with slabs, and give copies of the parts to some instructions."""
    ids = [insn.id for insn in knl.instructions]

    def take(step: _Step) -> None:
        nonlocal knl
        with suppress(UserError):
            knl = step(knl)

    def some() -> list[str]:
        return r.sample(ids, r.randint(1, len(ids) - 1))

    if r.random() < 0.3:
        take(lambda k: pg.duplicate_inames(k, "i", some(), ["i_own"]))
    slabs, length = r.choice(((0, 1), (1, 0), (1, 1), (1, 2))), r.choice((3, 16))
    ends = {"outer_tag": "g.0", "inner_tag": r.choice(("l.0", "l.0", "unr", None))}
    for iname in ("i", "i_own"):
        take(lambda k, i=iname: pg.split_iname(k, i, length, slabs=slabs, **ends))  # type: ignore[misc]
    for number in range(r.choice((1, 2, 3))):
        olds = r.choice((["i_outer"], ["i_outer", "i_inner"], ["i_inner"]))
        news = [f"{old}_{number}" for old in olds]
        take(lambda k, o=olds, n=news: pg.duplicate_inames(k, o, some(), n))  # type: ignore[misc]
        tags = {n: knl.tags[o] for n, o in zip(news, olds, strict=True) if o in knl.tags}
        if r.random() < 0.8:
            take(lambda k, t=tags: pg.tag_inames(k, t))  # type: ignore[misc]
    return knl


def _check(seeds: Iterable[int]) -> int:
    """Generate code; return of how many kernels, of those in which several inames have an axis."""
    count = 0
    for seed in seeds:
        r = random.Random(seed)
        knl = _kernel(r)
        if knl is None:
            continue
        knl = _changed(knl, r)
        for target in ("c", "opencl"):
            try:
                pg.generate_code(knl, target)
            except InternalError as error:
                error.add_note(f"seed {seed}: {[str(step) for step in knl.history]}")
                raise
            except UserError:
                continue
        groups = [tag for tag in map(str, knl.tags.values()) if tag == "g.0"]
        count += len(groups) > 1 and bool(knl.separations)
    return count


@pytest.mark.more
def test_copies_of_loops_with_slabs() -> None:
    assert _check(range(24)) > 2


@pytest.mark.deep
@pytest.mark.parametrize("start", range(1_000, 3_000, 200))
def test_many_copies_of_loops_with_slabs(start: int) -> None:
    assert _check(range(start, start + 200)) > 20
