"""Kernels that are refused when they are made, each witness seen to be one; and those accepted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.order.loop_tree import loops_outside
from polygen.errors import NestingDecides, OutOfBounds, UninitializedRead, UnorderedAccess
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.oracle.compare import make_arguments, typed
from tests.oracle.interpreter import interpret
from tests.proof import catalogue_ill_formed, catalogue_well_formed
from tests.proof.catalogue_ill_formed import IllFormed
from tests.proof.catalogue_well_formed import WellFormed
from tests.proof.faults import faults
from tests.proof.patterns import PATTERNS, array, scalar
from tests.proof.trace import Instance, instance, trace

ILL = catalogue_ill_formed.CATALOGUE
WELL = catalogue_well_formed.CATALOGUE
SEEDS = range(24)

_INSTANCE = r"'\w+'|\w+\[[^\]]*\]"
_PAIR = re.compile(
    rf"(?P<first>{_INSTANCE}) (?P<does>writes|reads) (?:the element of )?'(?P<name>\w+)' that "
    rf"(?P<second>{_INSTANCE}) (?P<other>writes|reads)"
)
_FAULT = re.compile(
    rf"(?P<at>{_INSTANCE}) (?:reads|writes) (?P<element>'\w+'|\w+\[[^\]]*\]), which"
)
_LOOPS = re.compile(r"that over '(\w+)' or that over '(\w+)'")


def _label(case: IllFormed | WellFormed) -> str:
    return f"{case.pattern}: {' '.join(case.text.split())}"


def _sizes(what: str, kernel: Kernel) -> dict[str, int]:
    """Return the parameters of a witness; those that it leaves open are 4."""
    found = re.search(r"for ((?:\w+=-?\d+, )+)", what)
    given = re.findall(r"(\w+)=(-?\d+)", found[1]) if found else []
    return dict.fromkeys(kernel.parameters, 4) | {name: int(value) for name, value in given}


def _instance(text: str) -> Instance:
    """Return the instance that ``s[i=0, j=1]``, or ``'s'``, stands for."""
    insn_id, _, inside = text.strip("'").partition("[")
    return instance(insn_id, {n: int(v) for n, v in re.findall(r"(\w+)=(-?\d+)", inside)})


def _refusal(kernel: Kernel) -> pg.IllFormedKernel:
    with pytest.raises(pg.IllFormedKernel) as caught:
        pg.check_well_formed(kernel)
    return caught.value


def _ready(case: IllFormed, sizes: Mapping[str, int]) -> tuple[Kernel, dict[str, Any]]:
    with pg.without_proofs():
        knl = case.kernel()
        arguments = make_arguments(knl, sizes)
        return typed(knl, arguments), arguments


def _outcomes(kernel: Kernel, arguments: Mapping[str, Any], seeds: range = SEEDS) -> set[str]:
    found: set[str] = set()
    for seed in seeds:
        arrays = interpret(kernel, arguments, seed).arrays
        found.add(repr([(name, array.tolist()) for name, array in sorted(arrays.items())]))
    return found


# --- refused


@pytest.mark.parametrize("case", ILL, ids=_label)
def test_ill_formed_kernels_are_refused(case: IllFormed) -> None:
    error = _refusal(case.kernel())
    assert type(error) is case.kind
    assert case.about in error.what
    assert error.remedy
    assert "-> " in str(error.excerpt)
    assert re.search(r"cases\.py:\d+", str(error.where))


@pytest.mark.parametrize("case", [c for c in ILL if not c.tags], ids=_label)
def test_they_cannot_be_made(case: IllFormed, monkeypatch: pytest.MonkeyPatch) -> None:
    text = str(case.kernel())
    with pytest.raises(case.kind):
        pg.parse_kernel(text)
    monkeypatch.setenv("POLYGEN_PROOFS", "0")
    assert pg.parse_kernel(text) == case.kernel()


UNORDERED = [c for c in ILL if c.kind is UnorderedAccess and c.pattern != "bounds"]


@pytest.mark.parametrize("case", UNORDERED, ids=_label)
def test_instances_in_no_order(case: IllFormed) -> None:
    what = _refusal(case.kernel()).what
    knl, arguments = _ready(case, _sizes(what, case.kernel()))
    match = _PAIR.search(what)
    assert match is not None
    first, second = _instance(match["first"]), _instance(match["second"])
    runs = [trace(knl, arguments, seed) for seed in SEEDS]
    touched = [
        {index for name, index, writes in runs[0].touched[at]
         if name == match["name"] and writes is (does == "writes")}
        for at, does in ((first, match["does"]), (second, match["other"]))
    ]  # fmt: skip
    assert touched[0] & touched[1]
    assert "writes" in (match["does"], match["other"])
    assert len({run.order.index(first) < run.order.index(second) for run in runs}) == 2


@pytest.mark.parametrize("case", UNORDERED, ids=_label)
def test_what_they_leave_depends_on_chance(case: IllFormed) -> None:
    if _has_faults(case):  # in one of the orders, it reads what was not written
        return
    found: set[int] = set()
    for size in (1, 4, 5, 8):
        knl, arguments = _ready(case, dict.fromkeys(case.kernel().parameters, size))
        found.add(len(_outcomes(knl, arguments)))
    assert max(found) > 1


def _has_faults(case: IllFormed) -> bool:
    knl, arguments = _ready(case, dict.fromkeys(case.kernel().parameters, 4))
    return any(faults(knl, arguments, seed) for seed in SEEDS)


NESTED = [c for c in ILL if c.kind is NestingDecides]


def _nested(knl: Kernel, outer: str, inner: str) -> Kernel:
    return knl.copy(priorities=((outer, inner), *knl.priorities))


@pytest.mark.parametrize("case", NESTED, ids=_label)
def test_nests_that_compute_different_things(case: IllFormed) -> None:
    what = _refusal(case.kernel()).what
    knl, arguments = _ready(case, _sizes(what, case.kernel()))
    match, loops = _PAIR.search(what), _LOOPS.search(what)
    assert match is not None
    assert loops is not None
    first, second = _instance(match["first"]), _instance(match["second"])
    for outer, inner in (loops.groups(), loops.groups()[::-1]):
        order = trace(_nested(knl, outer, inner), arguments, 0).order
        assert (order.index(first) < order.index(second)) is (outer == loops[1])
    knl, arguments = _ready(case, dict.fromkeys(knl.parameters, 5))
    results = [_outcomes(_nested(knl, *order), arguments) for order in permutations(loops.groups())]
    assert [len(r) for r in results] == [1, 1]
    assert results[0] != results[1]


FAULTY = [c for c in ILL if c.kind in (UninitializedRead, OutOfBounds) and c.pattern != "bounds"]


@pytest.mark.parametrize("case", FAULTY, ids=_label)
def test_elements_that_are_not_there(case: IllFormed) -> None:
    what = _refusal(case.kernel()).what
    knl, arguments = _ready(case, _sizes(what, case.kernel()))
    match = _FAULT.search(what)
    assert match is not None
    element = match["element"].strip("'")
    wanted = f"{element} is outside" if case.kind is OutOfBounds else f"{element} is read before"
    found = faults(knl, arguments)
    insn_id, inames = _instance(match["at"])
    around = case.kernel().instruction(insn_id).within_inames
    at = {i: v for i, v in inames if i in around}
    assert any(
        where.insn_id == insn_id
        and at.items() <= where.inames.items()
        and text.replace("[]", "").startswith(wanted)
        for where, text in found
    ), found


def test_bounds_that_are_read_too_early() -> None:
    cases = [c for c in ILL if c.pattern == "bounds"]
    assert [c.kind for c in cases] == [UnorderedAccess, UninitializedRead]
    assert "'s'" not in _refusal(cases[0].kernel()).what
    assert "'count' bounds a loop around 's'" in _refusal(cases[1].kernel()).what


def test_a_bound_that_is_data_and_a_condition_on_two_loops() -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<count }", "{ [k]: 0<=k<m and (j+k) mod 2 = 0 }"]
    text = "count = c[i] {id=count, dep=*}\na[i,j,k] = 1 {id=a, dep=*count}"
    data = [pg.TemporaryVariable("count", "int32"), pg.GlobalArg("a", shape="n, p, m"), "..."]
    knl = kernel(domains, text, *data)
    owed = [found.what for found in pg.obligations(knl)]
    assert owed == ["a[i, j, k] is inside of 'a': 0 <= j < p"]


def test_the_catalogues_are_large() -> None:
    assert len(ILL) >= 60
    assert len({case.pattern for case in ILL}) >= 12
    assert len(WELL) >= 60


# --- accepted


def _calls(knl: Kernel) -> Iterator[dict[str, int]]:
    """Yield sizes that the assumptions allow."""
    for size in (0, 1, 2, 3, 5):
        sizes = dict.fromkeys(knl.parameters, size)
        if size or "n > 0" not in knl.assumptions.text:
            yield sizes


def nests(knl: Kernel) -> Iterator[Kernel]:
    """Yield the kernel with its loops nested in every way that it leaves open."""
    loops = list(loops_outside(knl))
    outside = loops_outside(knl)
    for order in permutations(loops):
        if not any(o in outside[i] for n, i in enumerate(order) for o in order[n:]):
            yield knl.copy(priorities=(order, *knl.priorities))


@pytest.mark.parametrize("case", WELL, ids=_label)
def test_well_formed_kernels_are_accepted(case: WellFormed) -> None:
    knl = case.kernel()
    assert len(pg.obligations(knl)) == case.obligations
    assert pg.parse_kernel(str(knl)) == knl
    for seed, sizes in enumerate(_calls(knl)):
        arguments = make_arguments(knl, sizes, seed)
        random = np.random.default_rng(seed)
        for name, limit in case.limits.items():
            values = random.integers(0, limit, arguments[name].shape)
            arguments[name] = np.sort(values).astype(np.int32)
        ready = typed(knl, arguments)
        found: set[str] = set()
        for nested in nests(ready):
            assert not faults(nested, arguments)
            found |= _outcomes(nested, arguments, range(3))
        assert len(found) == 1


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_accepted(name: str) -> None:
    pg.check_well_formed(PATTERNS[name].kernel())


# --- how it is said


def test_a_refusal_names_lines_instances_and_a_remedy() -> None:
    with pytest.raises(UnorderedAccess) as caught:
        pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = b[i]  {id=s}\na[i] = 2  {id=u}", name="twice")
    assert str(caught.value).splitlines() == [
        "kernel 'twice' leaves open which of two instances comes first: for n=1, s[i=0] writes the "
        "element of 'a' that u[i=0] writes too",
        f"  at {caught.value.where}",
        "  | -> [i] a[i] = b[i]  {id=s}",
        "  | -> [i] a[i] = 2  {id=u}",
        "  remedy: say which comes first: {dep=s} with 'u', or {dep=u} with 's'",
    ]
    assert __file__ in str(caught.value.where)


def test_the_remedies_do() -> None:
    text = "a[i] = b[i]  {id=s}\na[i] = 2  {id=u, dep=s}"
    assert pg.make_kernel("{ [i]: 0<=i<n }", text).instructions
    domain, text = "{ [i,j]: 1<=i<n and 0<=j<n-1 }", "a[i,j] = a[i-1,j+1] + 1"
    with pytest.raises(NestingDecides) as caught:
        pg.make_kernel(domain, text)
    assert "loop_priority='i, j'" in str(caught.value.remedy)
    assert pg.make_kernel(domain, text, loop_priority="i, j").priorities == (("i", "j"),)
    a = pg.GlobalArg("a", shape="m")
    with pytest.raises(OutOfBounds) as outside:
        pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[0]", [a, "..."])
    assert "assumptions=" in str(outside.value.remedy)
    assert pg.make_kernel(
        "{ [i]: 0<=i<n }", "b[i] = a[0]", [a, "..."], assumptions="m >= 1"
    ).domains


def test_proofs_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Kernel:
        return pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = a[i-1]")

    with pg.without_proofs():
        knl = make()
    with pytest.raises(OutOfBounds):
        pg.check_well_formed(knl)
    with pytest.raises(OutOfBounds):
        make()
    monkeypatch.setenv("POLYGEN_PROOFS", "0")
    assert make() == knl


def test_a_step_that_was_vouched_for_is_believed_when_it_is_read() -> None:
    knl = PATTERNS["forward"].kernel()
    racy = pg.tag_inames(knl, {"i": "g.0"}, unsafe=True)  # type: ignore[call-arg]
    assert pg.parse_kernel(str(racy)) == racy
    claim = "CLAIMS:\n" + str(racy.claims[0]) + "\n"
    assert claim in str(racy)
    with pytest.raises(UnorderedAccess):
        pg.parse_kernel(str(racy).replace(claim, ""))


def test_a_bound_without_a_value_is_shown_with_the_sizes() -> None:
    text = "m = p[i] {id=m, inames=i, if=i>0, dep=*}\nx[i] = sum(j, j) {id=s, inames=i, dep=m}"
    data = (pg.TemporaryVariable("m", "int32"), pg.GlobalArg("p", "int32", "n"), "...")
    with pytest.raises(UninitializedRead, match=r"for n=1, 'm' bounds a loop around s\[i=0\]"):
        kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"], text, *data)


@pytest.mark.parametrize("between", ["p = d[i]", "q[i] = d[i]"])
def test_a_condition_that_may_have_changed_says_nothing_of_what_was_written(between: str) -> None:
    """The read has the writer's condition, of which a variable is overwritten in between."""
    own = between.startswith("p")
    asked = "p" if own else "b[i]"
    lines = [
        *(["p = c[i] {id=p, inames=i, dep=*}"] if own else []),
        f"t = 1 {{id=t, inames=i, dep={'p' if own else '*'}, if={asked}>0}}",
        f"{between} {{id=between, inames=i, dep=t}}",
        f"out[i] = t {{id=out, inames=i, dep=between, if={asked}>0}}",
    ]
    temporaries = [scalar("t"), *([scalar("p")] if own else [])]
    arrays = [array("c", "n"), *([] if own else [array(n, "n", may_alias=True) for n in "bq"])]
    knl = kernel("{ [i]: 0<=i<n }", "\n".join(lines), *temporaries, *arrays, "...")
    assert ("written", "t") in [(o.kind, o.array) for o in pg.obligations(knl)]
