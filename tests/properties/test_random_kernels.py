"""Random kernels and random legal transformations do what the interpreter says that they mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.order.loop_tree import BarrierNode
from polygen.ir.expression import sum_of
from polygen.ir.kernel import Kernel
from polygen.lower import bounds, loop_ranges, needed_guards
from tests.few import few
from tests.oracle.compare import check, typed
from tests.oracle.evaluate import OracleError
from tests.oracle.interpreter import interpret
from tests.proof.judge import arguments_of
from tests.proof.sequences import DATA, NO_CODE, random_sequence
from tests.properties.random_case import RandomCase, random_case
from tests.properties.together import Arrays, run_together

COUNT, IN_C, IN_OPENCL = 40, 50, 18
SOME = 16
BATCH = 10


def _cases(seeds: range) -> Iterator[tuple[int, RandomCase]]:
    for seed in seeds:
        case = random_case(seed)
        if case is not None:
            yield seed, case


def _check_lowering(seeds: range) -> int:
    done = 0
    for seed, case in _cases(seeds):
        try:
            check(case.marked, case.arguments, [case.transformed], seed)
        except Exception as error:
            error.add_note(f"seed {seed}: {[str(s) for s in case.transformed.history]}")
            raise
        done += 1
    return done


@few(1, "start", [0, *range(BATCH, COUNT, BATCH)])
def test_loop_programs(start: int) -> None:
    assert _check_lowering(range(start, start + BATCH)) > BATCH // 2  # few are not possible


@pytest.mark.deep
@pytest.mark.parametrize("start", (COUNT, *range(10_000, 20_000, 500)))
def test_thousands_of_loop_programs(start: int) -> None:
    assert _check_lowering(range(start, start + 500)) > 400


# --- compiled


def _check_compiled(seeds: range, target: str, patch: pytest.MonkeyPatch) -> int:
    """Compile and call kernels; a third of them is transformed by steps of any kind."""
    wanted: list[tuple[int, Kernel, Arrays]] = []  # the kernel that says what is right
    kernels: list[tuple[Kernel, Arrays]] = []
    for seed in seeds:
        if seed % 3 == 0:
            sequence = random_sequence(seed)
            first, last = sequence.kernels[0], sequence.kernels[-1]
            for sizes, call in sequence.calls[:1]:
                arguments = arguments_of(first, sizes, call, DATA)
                wanted.append((seed, typed(first, arguments), arguments))
                passed = {n: v for n, v in arguments.items() if n in last.variables}
                kernels.append((last, passed))
            continue
        with pg.without_proofs():  # others look at these
            case = random_case(seed)
        if case is not None:
            wanted.append((seed, case.marked.kernel, case.arguments))
            kernels.append((case.transformed, case.passed))
    with pg.without_proofs():
        results = run_together(kernels, target, patch, NO_CODE)
    for (seed, kernel, arguments), arrays in zip(wanted, results, strict=True):
        if arrays is not None:
            expected = interpret(kernel, arguments, seed).arrays
            for name, array in expected.items():
                message = f"seed {seed}: {name}"
                np.testing.assert_array_equal(arrays[name], array, err_msg=message)
    return sum(arrays is not None for arrays in results)


@pytest.mark.parametrize(
    "seeds",
    [
        range(1_000, 1_000 + SOME),
        pytest.param(range(1_000 + SOME, 1_000 + IN_C), marks=pytest.mark.more),
    ],
    ids=str,
)
def test_compiled_c(monkeypatch: pytest.MonkeyPatch, seeds: range) -> None:
    assert _check_compiled(seeds, "c", monkeypatch) > 0.7 * len(seeds)


@pytest.mark.usefixtures("optimized")
@pytest.mark.more
def test_compiled_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = range(2_000, 2_000 + IN_OPENCL)
    assert _check_compiled(seeds, "opencl", monkeypatch) > 0.7 * IN_OPENCL


@pytest.mark.deep
@pytest.mark.parametrize("start", (1_000 + IN_C, *range(20_000, 22_000, 200)))
def test_much_compiled_c(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check_compiled(range(start, start + 200), "c", monkeypatch) > 140


@pytest.mark.deep
@pytest.mark.usefixtures("optimized")
@pytest.mark.parametrize("start", (2_000 + IN_OPENCL, *range(30_000, 30_300, 50)))
def test_much_compiled_opencl(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check_compiled(range(start, start + 50), "opencl", monkeypatch) > 30


# --- that these tests can fail


@pytest.mark.more
def test_steps_of_all_kinds_are_taken() -> None:
    with pg.without_proofs():
        found = [case.transformed.history for _, case in _cases(range(120))]
    names = {step.name for history in found for step in history}
    assert names >= {"split_iname", "tag_inames", "prioritize_loops", "rename_iname", "assume"}
    assert names >= {"shift", "reverse", "untag_inames", "interchange", "extract_subst"}
    assert names >= {"expand_subst", "fix_parameters"}


def _without_guards(*args: Any) -> tuple[()]:
    return ()


def _without_barriers(kernel: Kernel, tree: Any) -> Any:
    return tuple(node for node in tree if not isinstance(node, BarrierNode))


def _one_too_far(original: Callable[..., Any]) -> Callable[..., Any]:
    def changed(*args: Any, **kwargs: Any) -> Any:
        found = original(*args, **kwargs)
        return type(found)(found.lower, sum_of(found.upper, 1), found.step, found.held)

    return changed


def _fails(seeds: range) -> bool:
    try:
        _check_lowering(seeds)
    except (AssertionError, OracleError):
        return True
    return False


def test_dropped_guards_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(needed_guards, "guards", _without_guards)
    assert _fails(range(20))


def test_dropped_barriers_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("lower", "across_launches"):
        monkeypatch.setattr(f"polygen.lower.{module}.place_barriers", _without_barriers)
    assert _fails(range(40))


def test_loops_that_run_too_far_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_ranges, "loop_bounds", _one_too_far(bounds.loop_bounds))
    assert _fails(range(20))


def _notices(case: RandomCase) -> bool:
    (first, *others) = case.transformed.assignments
    other = first.with_pairs([(a, sum_of(value, 1)) for a, value in first.pairs])
    kernel = case.transformed.copy(instructions=(other, *others))
    try:
        check(case.marked, case.arguments, [kernel])
    except AssertionError:
        return True
    return False


@pytest.mark.more
def test_a_kernel_that_computes_something_else_is_noticed() -> None:
    # Not in each: the instruction may have no instance, or nobody may read what it writes.
    noticed = [_notices(case) for _, case in _cases(range(20))]
    assert sum(noticed) > len(noticed) // 2
