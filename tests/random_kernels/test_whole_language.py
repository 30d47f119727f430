"""Random kernels over the whole language: text, meaning, C and OpenCL agree, steps taken or not."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polygen as pg
from polygen.ir.expression import sum_of
from polygen.ir.instruction import CInstruction
from polygen.ir.kernel import Kernel
from tests.random_kernels.check import Case, check_compiled, check_text, make_case
from tests.random_kernels.expressions import COMPLEX, INTEGERS, REALS
from tests.random_kernels.maker import Maker, random_maker
from tests.random_kernels.statements import STATEMENTS

IN_C, BATCH, IN_OPENCL, IN_STEPS = 300, 75, 42, 48
TRIED = 4  # steps


def _cases(seeds: range, steps: int = 0) -> list[Case]:
    """Return kernels, none of which polygen refuses, after a look at their texts."""
    cases = [make_case(seed, steps=steps) for seed in seeds]
    for case in cases:
        check_text(case)
    return cases


@pytest.mark.parametrize("start", range(0, IN_C, BATCH))
def test_in_c(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases(range(start, start + BATCH))
    # Of the others, those below take care.
    assert check_compiled(cases, "c", monkeypatch, validated=start == 0) == BATCH


def test_in_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases(range(1_000, 1_000 + IN_OPENCL))
    assert check_compiled(cases, "opencl", monkeypatch) == IN_OPENCL


def test_after_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = _cases(range(2_000, 2_000 + IN_STEPS), TRIED)
    assert sum(len(case.steps) for case in cases) > 1.5 * IN_STEPS
    # For the others there is no code: an axis without a constant size, say.
    assert check_compiled(cases, "c", monkeypatch) > 0.7 * IN_STEPS


@pytest.mark.deep
@pytest.mark.parametrize("start", range(100_000, 106_000, 200))
def test_thousands_in_c(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_compiled(_cases(range(start, start + 200)), "c", monkeypatch) == 200


@pytest.mark.deep
@pytest.mark.parametrize("start", range(200_000, 200_600, 60))
def test_hundreds_in_opencl(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_compiled(_cases(range(start, start + 60)), "opencl", monkeypatch) == 60


@pytest.mark.deep
@pytest.mark.parametrize("start", range(300_000, 302_000, 100))
def test_thousands_after_steps(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    target = "opencl" if start % 500 == 0 else "c"
    assert check_compiled(_cases(range(start, start + 100), 6), target, monkeypatch) > 60


# --- that these tests look at something


@cache
def _made() -> list[tuple[Maker, Kernel]]:
    makers = [random_maker(seed) for seed in range(IN_C // 2)]
    with pg.without_proofs():
        return [(maker, maker.kernel()) for maker in makers]


def test_all_constructs_are_there() -> None:
    found = Counter(name for maker, _ in _made() for name in set(maker.constructs))
    types = {str(v.dtype) for _, kernel in _made() for v in kernel.variables.values()}
    text = "\n".join(
        line for maker, kernel in _made() for line in (*maker.domains, *maker.lines, str(kernel))
    )
    assert not [name for name in STATEMENTS if found[name] < 4], found
    assert types > {*INTEGERS, *REALS, *COMPLEX, "bool"}
    for part in (*_PARTS, "own_mix", "own_half", "own_parts"):
        assert text.count(part) > 1, part


_PARTS = (
    *("for i, j\n", "if ", "elif ", "else\n", "with {", "dup=", "dep=*", "priority="),
    *("tags=", "groups=", "nop", "gbarrier", "lbarrier", "atomic", "code(k=", "writes(", "<> t"),
    *("sum(", "sum<float64>", "product(", "any(", "all(", "argmin(", "argmax(", "segmented(sum)"),
    *("simul_reduce(", "reduce(", "xor_all(", "horner3(", "$first(", "f1(x) :=", "philox4x32("),
    *("threefry2x64(", " or ", "mod 2", "exists(", "//", " % ", "<<", ">>", "~", "^", "**2"),
    *("[[5*", "table[", "count[", "idx[", "alpha", "1j*", "conj(", "real(", "cast(np.", "np.int"),
    *("aspace: local", "aspace: global", "ConstantArg", " -> [i'", "own_plus(", "own_largest("),
)


def test_bounds_of_errors_are_small() -> None:
    sources = [source for maker, _ in _made() for source in maker.sources]
    inexact = [s.value for s in sources if not s.value.exact and np.isfinite(s.value.most)]
    relative = sorted(value.error / value.most for value in inexact)
    assert len(relative) > 100
    assert relative[len(relative) // 2] < 1e-4
    assert relative[len(relative) * 9 // 10] < 0.05


def _one_more(case: Case) -> Case | None:
    """Return a case whose kernel adds one to what its last instruction stores, if that can be."""
    arguments = {a.name for a in case.kernel.arguments}
    for insn in reversed(case.kernel.assignments):
        if isinstance(insn, CInstruction) or insn.atomicity or len(insn.values) != 1:
            continue
        if (
            insn.written_names[0] in arguments
            and case.arguments[insn.written_names[0]].dtype != bool
        ):
            pairs = [(a, sum_of(value, 1)) for a, value in insn.pairs]
            others = [insn.with_pairs(pairs) if i is insn else i for i in case.kernel.instructions]
            return replace(case, changed=case.kernel.copy(instructions=tuple(others)))
    return None


def test_kernels_that_compute_something_else_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [c for seed in range(0, 30, 6) if (c := _one_more(make_case(seed))) is not None]
    noticed = 0
    for case in cases:
        try:
            check_compiled([case], "c", monkeypatch)
        except AssertionError:
            noticed += 1
    # Not in each: there may be no instance, or rounding of that size.
    assert noticed > len(cases) // 2
