"""`optimize` with `tune=True`: which candidates there are, what is taken, kept and told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, NoDevice, OutOfMemory
from polygen.ir.kernel import Kernel
from polygen.schedules import processors, threads
from polygen.schedules.plan import Plan
from tests.random_kernels.check import check_compiled, make_case
from tests.schedules.test_optimize import LIMITS, kernel

Measured = Callable[[Callable[[Kernel], float]], list[Kernel]]


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Measured:
    """A function that says how long kernels take from now on; it returns what is measured."""
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYGEN_NO_CACHE", raising=False)

    def takes(seconds: Callable[[Kernel], float]) -> list[Kernel]:
        asked: list[Kernel] = []

        def seconds_of(run: pg.Executor, new_args: Callable[[], object], enough: float) -> float:
            asked.append(run.kernel)
            return seconds(run.kernel)

        monkeypatch.setattr("polygen.tuning.measure.seconds_of", seconds_of)
        return asked

    return takes


def turned() -> Kernel:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[j,i] = 2*a[j,i]", loop_priority="i, j", name="turned")
    return pg.add_dtypes(knl, {"a": "float64"})


def tuned(knl: Kernel, **sizes: int) -> Kernel:
    return pg.optimize(knl, LIMITS, sizes=sizes, tune=True)


def shared(knl: Kernel) -> str:
    return "".join(iname for iname, tag in knl.tags.items() if str(tag) == "g.0")


def test_what_is_fastest_is_taken(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the model finds: here, the columns on threads, in the order that was written."""
    monkeypatch.setattr(threads, "WORTH_IT", 100)

    def seconds(knl: Kernel) -> float:
        as_written = knl.priorities == (("i", "j"),)
        return 1.0 - 0.2 * (as_written and bool(knl.tags)) - 0.3 * (shared(knl) == "j") * as_written

    asked = measured(seconds)
    new = tuned(turned(), n=1000)
    assert seconds(new) == 0.5
    orders = {(knl.priorities[-1], shared(knl)) for knl in asked}
    one, other = ("i", "j"), ("j", "i")
    assert orders >= {(one, ""), (one, "i"), (one, "j"), (other, ""), (other, "i"), (other, "j")}
    a = np.random.default_rng(1).random((33, 33))
    np.testing.assert_array_equal(new(a=a)[1][0], 2 * a)


def test_answers_that_gain_together(measured: Measured) -> None:
    """Each alternative is faster than the model's choice; both are fastest."""
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = a[i,j]  {id=b}\nd[i,j] = c[i,j]  {id=d}")
    knl = pg.duplicate_inames(pg.add_dtypes(knl, {"a, c": "float64"}), ["i", "j"], "id:d")

    def seconds(knl: Kernel) -> float:
        return 1.0 - 0.3 * ("j" in knl.tags) - 0.2 * ("j_0" in knl.tags)

    measured(seconds)
    new = tuned(knl, n=1000)
    assert {i for i, tag in new.tags.items() if str(tag) == "g.0"} == {"j", "j_0"}


def test_the_models_choice_stays_unless_much_is_gained(measured: Measured) -> None:
    usual = pg.optimize(turned(), LIMITS, sizes={"n": 1000})
    measured(lambda knl: 1.0 if knl == usual else 0.96)
    assert tuned(turned(), n=1000) == usual


def test_the_kernel_stays_as_it_is_if_that_is_fastest(measured: Measured) -> None:
    measured(lambda knl: 0.5 if not knl.tags and knl.priorities == (("i", "j"),) else 1.0)
    new = tuned(turned(), n=1000)
    assert new == turned()
    assert "500 ms: no step (taken)" in str(pg.explain(new, LIMITS))


def test_what_was_found_is_kept(measured: Measured) -> None:
    asked = measured(lambda knl: 0.5 if shared(knl) == "i" else 1.0)
    first = tuned(turned(), n=1000)
    count = len(asked)
    again = tuned(turned(), n=1000)
    assert again == first
    assert again.choices == first.choices
    assert len(asked) == count
    tuned(turned(), n=1001)
    assert len(asked) == 2 * count


def test_more_time_is_used_if_it_was_short(measured: Measured) -> None:
    asked = measured(lambda _: 1.0)
    pg.optimize(turned(), LIMITS, sizes={"n": 1000}, tune=True, budget=1e-9)
    assert len(asked) == 1
    tuned(turned(), n=1000)
    count = len(asked)
    assert count > 3
    pg.optimize(turned(), LIMITS, sizes={"n": 1000}, tune=True, budget=20)  # that was all
    assert len(asked) == count


def test_what_was_measured_is_told(measured: Measured) -> None:
    measured(lambda knl: 0.002 if shared(knl) == "i" else 0.004)
    told = str(pg.explain(tuned(turned(), n=1000), LIMITS, sizes={"n": 1000}))
    done, lines = told.split("\nmeasured:\n")
    assert "threads along 'i'" in done
    first, *others = [line.strip() for line in lines.splitlines()]
    assert first == "2 ms: innermost loop of insn: j (taken)"
    assert "4 ms: the model's choice" in others
    assert "4 ms: no step" in others


def test_alternatives_of_a_stage(measured: Measured, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage asks its plan, and each answer is measured, heavy ones first."""

    def stage(plan: Plan) -> None:
        size = (16, 8, 4)[plan.pick("blocks of i", ("16", "8", "4"), weight=1)]
        width = (2, 3)[plan.pick("blocks of j", ("2", "3"), weight=10)]
        plan.take(
            ["insn"],
            "blocks",
            "a test",
            lambda knl: pg.split_iname(pg.split_iname(knl, "i", size), "j", width),
        )

    def extents(knl: Kernel) -> list[int]:
        return [step.arguments[1][1] for step in knl.history if step.name == "split_iname"]

    monkeypatch.setattr(processors, "STAGES", (stage,))
    asked = measured(lambda knl: {"[8, 2]": 0.5, "[8, 3]": 0.4}.get(str(extents(knl)), 1.0))
    new = tuned(turned(), n=100)
    assert extents(new) == [8, 3]
    order = [extents(knl) for knl in dict.fromkeys(asked)]
    assert order[:5] == [[16, 2], [], [16, 3], [8, 2], [4, 2]]
    assert "blocks of i: 8; blocks of j: 3 (taken)" in str(pg.explain(new, LIMITS))


def test_candidates_that_cannot_run_are_told(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def seconds(knl: Kernel) -> float:
        if shared(knl) == "i":
            raise InvalidArgument("it is too large")
        return 1.0

    measured(seconds)
    new = tuned(turned(), n=1000)
    (failed,) = [choice for choice in new.choices if choice.why == "it is too large"]
    assert not failed.is_taken
    assert failed.seconds is None
    assert failed.what == "innermost loop of insn: j"


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_measured_for_real(target: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYGEN_NO_CACHE", raising=False)
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 2*a[i,j] + 1", target=target)
    knl = pg.add_dtypes(knl, {"a": np.float32})
    new = pg.optimize(knl, LIMITS, sizes={"n": 200}, tune=True, budget=0.5)
    found = pg.explain(new, LIMITS).measured
    assert [choice.seconds for choice in found] == sorted(c.seconds or 0 for c in found)
    assert len([choice for choice in found if choice.is_taken]) == 1
    assert len(list(tmp_path.iterdir())) > 1
    a = np.random.default_rng(1).random((35, 35), np.float32)
    np.testing.assert_allclose(new(a=a)[1][0], 2 * a + 1, rtol=1e-6)


def test_without_tuning_nothing_is_measured(measured: Measured) -> None:
    asked = measured(lambda _: 1.0)
    new = pg.optimize(turned(), LIMITS, sizes={"n": 1000})
    assert not asked
    assert not pg.explain(new, LIMITS).measured


def test_steps_as_data(measured: Measured) -> None:
    measured(lambda knl: 0.5 if shared(knl) == "i" else 1.0)
    steps = pg.propose(turned(), LIMITS, sizes={"n": 1000}, tune=True)
    assert pg.apply(turned(), json.loads(json.dumps(steps))) == tuned(turned(), n=1000)


@pytest.mark.more
@pytest.mark.filterwarnings("ignore::polygen.errors.PolygenWarning")
@pytest.mark.parametrize(
    "answers", [lambda labels: labels[-1], lambda labels: labels[len(labels) // 2]]
)
def test_other_answers_compute_the_same(
    answers: Callable[[Sequence[str]], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is picked, results of random kernels stay as they are."""
    cases = [make_case(seed, target="c") for seed in range(56_000, 56_040)]
    asked: list[str] = []

    def pick(plan: Plan, about: str, labels: Sequence[str], weight: float = 1) -> int:
        asked.append(about)
        return list(labels).index(answers(labels))

    monkeypatch.setattr(Plan, "pick", pick)
    new = [
        replace(case, changed=pg.optimize(case.changed.copy(target="c"), sizes={"n": 2000}))
        for case in cases
    ]
    assert len(asked) > len(cases)
    assert check_compiled(new, "c", monkeypatch) >= check_compiled(cases, "c", monkeypatch)


# --- what cannot be measured


@pytest.mark.parametrize("budget", [0, -1.0, float("nan"), float("inf")])
def test_budgets(budget: float) -> None:
    with pytest.raises(InvalidArgument, match="which is no time to measure in") as caught:
        pg.optimize(turned(), LIMITS, tune=True, budget=budget)
    assert "budget=30" in str(caught.value.remedy)


def test_arrays_that_are_too_large() -> None:
    with pytest.raises(OutOfMemory, match="'turned' cannot be measured with arrays of") as err:
        tuned(turned(), n=10**6)
    assert "sizes=" in str(err.value.remedy)


def test_a_device_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> None:
        raise NoDevice("no GPU here")

    monkeypatch.setattr("polygen.tuning.measure.measured_device", none)
    with pytest.raises(NoDevice, match="no GPU here"):
        pg.optimize(turned().copy(target="cuda"), pg.Limits.named("H200"), tune=True)


def test_loops_that_data_ends_are_not_measured(measured: Measured) -> None:
    """Of random numbers, they may not end at all."""
    asked = measured(lambda _: 1.0)
    knl = pg.make_kernel(
        "{ [t]: 0<=t }",
        """
        <> x = 1.0*a[0]      {id=x}
        for t while x > tol
            x = 0.5*x        {id=half, dep=x}
        end
        b[0] = x             {dep=half}
        """,
        [pg.GlobalArg("a, b", np.float64, shape="1"), pg.ValueArg("tol", np.float64)],
        target="c",
    )
    new = tuned(knl)
    assert not asked
    (left,) = [choice for choice in new.choices if choice.what == "measuring"]
    assert "data decides when a loop ends" in left.why


def test_arguments_that_cannot_be_random(
    measured: Measured, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise InvalidArgument("the shape of 'a' is not known")

    asked = measured(lambda _: 1.0)
    monkeypatch.setattr("polygen.tuning.measure.random_arguments", none)
    new = tuned(turned(), n=1000)
    assert not asked
    assert new == pg.optimize(turned(), LIMITS, sizes={"n": 1000})
    assert "measuring: the shape of 'a' is not known" in map(str, new.choices)
