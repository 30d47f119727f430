"""Loops that their nests show to be parallel: the step that tags them is proved, always."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence

import pytest

import polygen as pg
from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel, same_element_of
from polygen.errors import DependencyCycle, NoLoopNest, UserError
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag
from tests.few import few
from tests.proof.generator import Maker
from tests.proof.patterns import PATTERNS
from tests.properties.generator import Generator


def _plain(knl: Kernel) -> list[str]:
    return [i for i in knl.inames if is_plainly_parallel(knl, i, GroupTag(2))]


def _nests(*texts: str, kernel_data: Iterable[object] = ("...",)) -> Kernel:
    """Return a kernel of nests over i, j, k and so on, the first two of each instruction's."""
    return pg.make_kernel(
        [f"{{ [{i}]: 1<={i}<n-1 }}" for i in "ijkl"],
        "\n".join(texts),
        kernel_data,
        seq_dependencies=True,
    )


def test_loops_that_carry_something_are_not() -> None:
    knl = _nests("a[i] = a[i-1] {id=s}", "b[j] = a[j] {id=t}", "b[k] = b[k] + 1 {id=r}")
    assert _plain(knl) == ["j", "k"]


def test_what_comes_before_and_after_has_to_stay_there() -> None:
    """Without its loop, s is before r no more: only t is."""
    chained = "a[i] = 1 {id=s}\nb[i] = 1 {id=t, dep=*s}\na[j] = 2 {id=r, dep=*t}"
    loose = "a[i] = 1 {id=s, dep=*}\nb[i] = 1 {id=t, dep=*}\na[j] = 2 {id=r, dep=*t}"
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
    assert _plain(pg.make_kernel(domains, chained)) == ["i", "j"]
    assert _plain(pg.make_kernel(domains, loose)) == ["j"]
    late = "c[j] = 1 {id=r, dep=*}\na[i] = 1 {id=s, dep=*}\nc[i] = 1 {id=t, dep=*s:r}"
    assert _plain(pg.make_kernel(domains, late)) == ["j"]


def test_values_that_work_items_would_keep_for_themselves() -> None:
    """The whole kernel has to say where they are."""
    scalar = pg.TemporaryVariable("t", address_space=pg.AddressSpace.PRIVATE)
    own = _nests("t = b[i] {inames=i}", "a[i] = t {inames=i}", kernel_data=[scalar, "..."])
    assert _plain(own) == ["i"]
    passed = _nests("t = b[i] {inames=i}", "a[j] = t {inames=j}", kernel_data=[scalar, "..."])
    assert _plain(passed) == []


def test_global_temporaries_between_nests() -> None:
    between = pg.TemporaryVariable("t", shape="n", address_space=pg.AddressSpace.GLOBAL)
    knl = _nests("t[i] = b[i]", "a[j] = t[j] + t[1]", kernel_data=[between, "..."])
    assert _plain(knl) == ["i", "j"]


def test_a_loop_in_between_orders_those_around_it() -> None:
    """Once j is no loop, nothing says that i is outside of k."""
    knl = pg.make_kernel("{ [i,j,k]: 0<=i,j,k<n }", "a[i,j,k] = 1", loop_priority=["i,j", "j,k"])
    assert set(_plain(knl)) == {"i", "k"}


def test_a_loop_in_time_is_looked_at_with_one_nest_in_it() -> None:
    """The first goes over a's elements in any order; the second hands on what it writes."""
    knl = pg.make_kernel(
        ["{ [t]: 0<=t<n }", "{ [i]: 1<=i<n }", "{ [j]: 1<=j<n }"],
        "a[i] = b[i-1] + a[i]  {inames=t:i}\nb[j] = b[j-1] + a[j]  {inames=t:j}",
        seq_dependencies=True,
    )
    assert _plain(knl) == ["i"]


def test_parts_within_a_loop_have_to_stand_where_the_nest_stood() -> None:
    """Without its loop, s is before r no more: only p is."""
    text = "a[i] = 1 {{id=s,inames=t:i,dep=*}}\nb[i] = 1 {{id=p,inames=t:i,dep=*{}}}\n"
    text += "a[j] = 2 {{id=r,inames=t:j,dep=*p}}"
    domains = ["{ [t]: 0<=t<n }", "{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
    assert _plain(pg.make_kernel(domains, text.format("s"))) == ["i", "j"]
    assert _plain(pg.make_kernel(domains, text.format(""))) == ["j"]


def test_kernels_with_what_spans_nests() -> None:
    data = [pg.GlobalArg("a", may_alias=True), "..."]
    assert _plain(_nests("a[i] = b[i]", kernel_data=data)) == []
    assert _plain(_nests("a[i] = b[i]")) == ["i"]


# --- beside the step


def check(knl: Kernel) -> Counter[bool]:
    """Compare with the step: what is plain is proved."""
    found: Counter[bool] = Counter()
    for iname in knl.inames:
        for tag in (GroupTag(2), LocalTag(2)):
            plain = is_plainly_parallel(knl, iname, tag)
            if plain:
                assert pg.is_legal(knl, pg.tag_inames, {iname: tag}, force=True)
            found[plain] += 1
    return found


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns(name: str) -> None:
    check(PATTERNS[name].kernel())


def _random_nests(seed: int, around: Sequence[str] = ()) -> Kernel:
    """Return a kernel of nests over few arrays, most of them in an order, in some loops."""
    choose = random.Random(seed)
    within = "".join(f"{t}:" for t in around)
    count = choose.randint(2, 5)
    lines: list[str] = []
    for k in range(choose.randint(count, 2 * count)):
        nest = choose.randrange(count)
        i, j = f"i{nest}", f"j{nest}"
        reads = [
            f"{choose.choice('abc')}[{i}+{choose.randint(0, 1)},{j}+{choose.randint(0, 1)}]"
            for _ in range(choose.randint(0, 2))
        ]
        earlier = [f"s{e}" for e in range(k) if choose.random() < 0.8]
        lines.append(
            f"{choose.choice('abc')}[{i}+{choose.randint(0, 1)},{j}] = "
            f"{' + '.join(['1', *reads])} "
            f"{{id=s{k}, dep=*{':'.join(earlier)}, inames={within}{i}:{j}}}"
        )
    with pg.without_proofs():
        return pg.make_kernel(
            [
                *(f"{{ [{t}]: 0<={t}<n }}" for t in around),
                *(f"{{ [i{k},j{k}]: 0<=i{k},j{k}<n }}" for k in range(count)),
            ],
            "\n".join(lines),
            loop_priority=[f"i{k},j{k}" for k in range(count) if choose.random() < 0.7],
            silenced_warnings=("AmbiguousNesting",),
        )


@few(1, "start", [0, *range(30, 210, 30)])
def test_random_kernels(start: int) -> None:
    found: Counter[bool] = Counter()
    for seed in range(start, start + 15):
        with pg.without_proofs():
            kernels = [Maker(seed).kernel(), _random_nests(seed)]
            kernels += [_random_nests(seed, "tu"[: 1 + seed % 2])] if seed % 6 == 3 else []
            kernels += [Generator(random.Random(seed)).case().kernel] if seed % 8 == 0 else []
        for knl in kernels:
            try:
                found += check(knl)
            except (DependencyCycle, NoLoopNest):
                continue
    assert min(found[True], found[False]) > 10


_SAME = [
    ("{ [i,j]: 0<=i,j<n }", "a[j] = b[i,j]", {"i": "a", "j": None}),
    ("{ [i,j]: 0<=i,j<n }", "a[i+j] = b[i,j]", {"i": None, "j": None}),
    ("{ [i,j]: 0<=i<n and i<=j<=i }", "a[j] = b[i,j]", {"i": None}),
    ("{ [i,j]: 0<=i,j<n }", "a[j] = b[i,j] {if=i == 2}", {"i": None}),
    ("{ [i,j]: 0<=i,j<n }", "a[j] = b[i,j] {if=j == 2}", {"i": "a"}),
    ("{ [i,j]: 0<=i,j<n }", "a[j] = b[i,j] {if=b[i,j] > 2}", {"i": None}),
    ("{ [i,j]: 0<=i,j<n }", "a[p[i]] = b[i,j]", {"i": None, "j": None}),
    ("{ [i,j]: 0<=i,j<n }", "a[j] = a[j] + b[i,j] {atomic}", {"i": None, "j": None}),
]


@pytest.mark.parametrize(("loops", "text", "meant"), _SAME)
def test_iterations_that_write_one_element(
    loops: str, text: str, meant: dict[str, str | None]
) -> None:
    """Where one is named, no axis takes the loop."""
    arrays = [
        pg.GlobalArg(name, "float64", shape=shape) for name, shape in (("a", "2*n"), ("b", "n, n"))
    ]
    indices = [pg.GlobalArg("p", "int32", shape="n")] if "p[" in text else []
    knl = pg.make_kernel(loops, text, [*arrays, *indices, "..."], loop_priority="i, j")
    assert {iname: same_element_of(knl, iname) for iname in meant} == meant
    for iname, name in meant.items():
        if name is not None:
            with pytest.raises(UserError):
                pg.tag_inames(knl, {iname: "g.0"})
