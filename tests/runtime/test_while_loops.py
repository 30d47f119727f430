"""Loops that a condition ends, run: per work item, around launches, with bounds and nested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from tests.few import few

BISECTION = """
for i
  <> low = 0.0
  <> high = a[i] + 1
  for t while high - low > 1e-9*high
    <> middle = 0.5*(low + high)
    if middle*middle > a[i]
      high = middle
    else
      low = middle
    end
    break if middle*middle == a[i]
  end
  root[i] = low
  steps[i] = high - low
end
"""


def bisection() -> pg.Kernel:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [t]: 0<=t }"], BISECTION, seq_dependencies=True, name="bisection"
    )
    return pg.add_dtypes(knl, {"a": np.float64})


def bisected(number: float) -> tuple[float, float]:
    low, high = 0.0, number + 1
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        if middle * middle > number:
            high = middle
        else:
            low = middle
        if middle * middle == number:
            break
    return low, high - low


NUMBERS = np.array([0.25, 1.0, 2.0, 1e6, 3.0, 0.0, 9.0])


def check_bisection(knl: pg.Kernel, target: str) -> None:
    _, (root, width) = knl.executor(target)(a=NUMBERS)
    expected = [bisected(float(number)) for number in NUMBERS]
    np.testing.assert_array_equal(root, [low for low, _ in expected])
    np.testing.assert_array_equal(width, [rest for _, rest in expected])


def test_a_loop_ends_where_its_condition_does() -> None:
    check_bisection(bisection(), "c")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_each_work_item_has_a_loop_of_its_own(target: str) -> None:
    knl = pg.split_iname(bisection(), "i", 4, outer_tag="g.0", inner_tag="l.0")
    check_bisection(knl, target)


def test_a_loop_without_an_end_may_be_split_and_unrolled() -> None:
    check_bisection(pg.split_iname(bisection(), "t", 3, inner_tag="unr"), "c")


RELAXED = """
residual = 1.0
for t while residual > 1e-4
  for i
    y[i] = 0.5*(x[i] + x[(i + 1) % n])
  end
  residual = sum(j, abs(y[j] - x[j]))
  for k
    x[k] = y[k]
  end
  count[0] = t + 1
end
"""


def relaxed(*, bounded: bool = False) -> pg.Kernel:
    ends = "{ [t]: 0<=t<most }" if bounded else "{ [t]: 0<=t }"
    knl = pg.make_kernel(
        ["{ [i, j, k]: 0<=i,j,k<n }", ends],
        RELAXED,
        [
            pg.TemporaryVariable("residual", np.float64, address_space=pg.auto),
            pg.GlobalArg("count", np.int32, shape=1),
            "...",
        ],
        assumptions="n >= 1",
        seq_dependencies=True,
        name="relaxed",
    )
    return pg.add_dtypes(knl, {"x": np.float64})


def on_grid(knl: pg.Kernel) -> pg.Kernel:
    for iname in "ik":
        knl = pg.split_iname(knl, iname, 8, outer_tag="g.0", inner_tag="l.0")
    return pg.split_iname(knl, "j", 8, inner_tag="l.0")


def by_numpy(x: Any, most: int = 10**6) -> tuple[Any, int]:
    residual, count = 1.0, 0
    while residual > 1e-4 and count < most:
        y = 0.5 * (x + np.roll(x, -1))
        residual = float(np.abs(y - x).sum())
        x, count = y, count + 1
    return x, count


def check_relaxed(knl: pg.Kernel, target: str, **sizes: int) -> None:
    start = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0, 5.0, 3.0, 5.0])
    expected, steps = by_numpy(start, **sizes)
    count, x = np.zeros(1, np.int32), start.copy()
    knl.executor(target)(x=x, count=count, **sizes)
    assert count[0] == steps
    np.testing.assert_allclose(x, expected, rtol=1e-12)


def test_an_iteration_until_a_residual_is_small() -> None:
    check_relaxed(relaxed(), "c")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_a_loop_on_the_host_reads_its_flag(target: str) -> None:
    check_relaxed(on_grid(relaxed()), target)


def test_results_do_not_depend_on_how_often_the_flag_is_read() -> None:
    check_relaxed(pg.set_options(on_grid(relaxed()), check_every=1000), "opencl")


@pytest.mark.parametrize("most", [0, 1, 3, 10000])
def test_a_bound_ends_a_loop_as_well(most: int) -> None:
    check_relaxed(relaxed(bounded=True), "c", most=most)


def test_a_bound_ends_a_loop_on_the_host_as_well() -> None:
    check_relaxed(pg.set_options(on_grid(relaxed(bounded=True)), check_every=2), "opencl", most=3)


COLLATZ = """
for i while found < wanted
  <int64> m = i + 1
  <int32> length = 0
  for t
    break if m == 1
    m = if(m % 2 == 0, m // 2, 3*m + 1)
    length = length + 1
    break if length >= 1000
  end
  if length % 2 == 1
    numbers[found] = i + 1
    found = found + 1
  end
end
out[0] = found
"""


def test_loops_that_conditions_end_inside_of_each_other() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i }", "{ [t]: 0<=t }"],
        "<int32> found = 0\n" + COLLATZ,
        [pg.GlobalArg("numbers", np.int64, shape="wanted"), "..."],
        assumptions="wanted >= 0",
        seq_dependencies=True,
    )
    (owed,) = pg.obligations(knl)
    assert (owed.kind, owed.array) == ("inside", "numbers")
    numbers, out = np.zeros(20, np.int64), np.zeros(1, np.int32)
    knl = pg.add_dtypes(knl, {"out": np.int32})
    knl.executor("c")(numbers=numbers, out=out)
    expected = [n for n in range(1, 200) if collatz(n) % 2 == 1][:20]
    assert numbers.tolist() == expected
    assert out[0] == 20


def collatz(number: int) -> int:
    count = 0
    while number != 1:
        number, count = (number // 2 if number % 2 == 0 else 3 * number + 1), count + 1
    return count


def test_a_loop_over_elements_may_be_left() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        """
        for i
          <int32> at = m
          for j
            <> here = a[i, j]
            if here < 0
              at = j
              break
            end
            s[i] = s[i] + here
          end
          first[i] = at
        end
        """,
        [pg.GlobalArg("first", np.int32, shape="n"), "..."],
        seq_dependencies=True,
    )
    a = np.array([[1, 2, -3, 4], [-1, 7, 8, -9], [5, 6, 7, 8], [1, 1, 1, -1]], np.int32)
    s = np.zeros(4, np.int32)
    outputs = pg.set_options(knl, return_dict=True).executor("c")(a=a, s=s)[1]
    assert outputs["first"].tolist() == [2, 0, 4, 3]
    assert s.tolist() == [3, 0, 26, 3]


@few(1, "every", [1, 5])
def test_files_for_hosts_ask_the_flag(every: int) -> None:
    """What emitted programs compute: `settled` in tests/emission/kernels.py."""
    knl = pg.set_options(on_grid(relaxed()), check_every=every)
    assert "t_runs[0] != 0" in pg.emit(knl, "c").files["relaxed.c"]
    for target in ("opencl", "cuda"):
        _, _, text = pg.emit(knl, target).files["relaxed.h"].partition("relaxed_launches(")
        assert text.count("pg_ask(pg_context, 0, &pg_runs)") == 1
        assert ("pg_turn_t % 5 == 0" in text) == (every == 5)


def test_threads_do_not_ask_a_flag_that_another_one_changes() -> None:
    """A team of threads executes loops on the host together; here, each loop has its own."""
    text = pg.generate_code(pg.set_options(on_grid(relaxed()), serial_below=0), "c").source
    assert "#pragma omp parallel for" in text
    assert "pg_wait_for_team" not in text
    knl = pg.make_kernel(
        ["{ [i, k]: 0<=i,k<n }", "{ [t]: 0<=t<m }"],
        "for t\n for i\n y[i] = x[i]\n end\n for k\n x[n-1-k] = y[k]\n end\nend",
        seq_dependencies=True,
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"x": np.float64}), "i:g.0, k:g.0")
    text = pg.generate_code(pg.set_options(knl, serial_below=0), "c").source
    assert "pg_wait_for_team" in text


def test_what_is_not_counted() -> None:
    """Without a number of iterations: tests/inspection/counts/test_trips.py has those with one."""
    with pytest.raises(pg.errors.NotCountable, match="data decides whether 't_runs' holds"):
        pg.get_op_map(bisection())


def test_newton_has_a_derivative_in_the_forward_direction() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [t]: 0<=t }"],
        """
        for i
          <> x = a[i]
          for t while abs(x*x - a[i]) > 1e-12
            x = 0.5*(x + a[i]/x)
          end
          root[i] = x
        end
        """,
        seq_dependencies=True,
    )
    knl = pg.add_dtypes(knl, {"a": np.float64})
    a = np.array([2.0, 3.0, 7.0])
    _, (found,) = pg.diff_kernel(knl, "root", "a").executor("c")(a=a)
    np.testing.assert_allclose(found, np.diag(0.5 / np.sqrt(a)), rtol=1e-6)
    with pytest.raises(pg.errors.EndlessLoop, match="mentions 't_end'"):
        pg.diff_kernel(knl, "root", "a", mode="reverse")


def test_a_loop_that_data_ends_in_steps_of_time() -> None:
    """Its flag is asked in each step: no step is a copy of the one before."""
    text = """
        for t
          e = 2
          for w while e > 1
            e = sum(j, x[j])
            for i
              x[i] = x[i]/2
            end
          end
          for k
            x[k] = 8*x[k]
          end
        end
        """
    knl = pg.make_kernel(
        ["{ [t]: 0<=t<T }", "{ [w]: 0<=w }", *(f"{{ [{i}]: 0<={i}<n }}" for i in "ijk")],
        text,
        [
            pg.TemporaryVariable("e", np.float64, (), pg.AddressSpace.AUTO),
            pg.GlobalArg("x", np.float64, "n"),
            "...",
        ],
        seq_dependencies=True,
        silenced_warnings=["ComputedAnew"],
    )
    run = pg.tag_inames(knl, {"i": "g.0", "k": "g.0"}).executor("opencl")
    expected = np.array([0.25, 0.5, 0.75])
    x = expected.copy()
    run(x=x, T=3)
    for _ in range(3):
        total = 2.0
        while total > 1:
            total = expected.sum()
            expected = expected / 2
        expected = 8 * expected
    np.testing.assert_array_equal(x, expected)
