"""Every loop program that lowering makes is found to be its kernel."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.inference import kinds
from polygen.errors import WrongInstances
from polygen.ir import expression as ex
from polygen.ir.kernel import Kernel
from polygen.lower.lower import Model, lower_prepared, prepare
from polygen.lower.program import Launch, LoopProgram
from polygen.validation.validate import check, validate
from tests.oracle.cases import grid, kernel
from tests.targets.golden_programs import vector_add_grid
from tests.validation.kernels import Example, examples, random_example

EXAMPLES = examples()
BATCH = 10


def _accepted(example: Example) -> list[LoopProgram]:
    """Return the loop programs of an example, which are right."""
    programs = [lower_prepared(example.kernel, model) for model in Model]
    for program in programs:
        try:
            check(example.kernel, program)
        except Exception as error:
            error.add_note(f"{example.name}:\n{example.kernel}\n{program}")
            raise
    return programs


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_example(example: Example) -> None:
    assert len(_accepted(example)) == 2


SIZES = 20


def _of_many_sizes(length: int) -> Kernel:
    """Return a kernel of loops of different sizes, side by side on the axes of one launch."""
    knl = pg.make_kernel(
        [f"{{ [i{k}]: 0<=i{k}<n{k} }}" for k in range(SIZES)],
        "\n".join(f"b{k}[i{k}] = {k}" for k in range(SIZES)),
        [*(pg.GlobalArg(f"b{k}", "float64", shape=f"n{k}") for k in range(SIZES)), "..."],
    )
    for k in range(SIZES) if length > 1 else ():
        knl = pg.split_iname(knl, f"i{k}", length, outer_tag="g.0", inner_tag="l.0")
    return knl if length > 1 else pg.tag_inames(knl, dict.fromkeys(knl.inames, "g.0"))


@pytest.mark.parametrize("length", [1, 16])
def test_loops_of_many_sizes_in_one_launch(length: int) -> None:
    """The axis is as long as the greatest: that of twenty is not made by isl."""
    knl = prepare(_of_many_sizes(length))
    program = lower_prepared(knl, Model.GRID)
    validate(knl, program)  # without the warning NotValidated
    (launch,) = program.host
    assert isinstance(launch, Launch)
    (axis, *items) = launch.axes
    sizes = [axis.size, *getattr(axis.size, "children", ())]
    (greatest,) = [size for size in sizes if isinstance(size, ex.Max)]
    shorter = replace(axis, size=ex.Max(greatest.children[:7] + greatest.children[8:]))
    wrong = replace(program, host=(replace(launch, axes=(shorter, *items)),))
    with pytest.raises(WrongInstances, match=" is not executed"):
        check(knl, wrong)


def _random(seeds: range) -> int:
    found = [example for seed in seeds if (example := random_example(seed)) is not None]
    return sum(len(_accepted(example)) for example in found)


@pytest.mark.parametrize("start", range(500, 530, BATCH))
def test_random_kernels(start: int) -> None:
    assert _random(range(start, start + BATCH)) > BATCH  # few are not possible


@pytest.mark.more
def test_more_random_kernels() -> None:
    assert _random(range(530, 600)) > 70


@pytest.mark.parametrize("seed", (1, 66, 230, 252, 291, 515, 10_108, 10_233, 43_753))
def test_random_kernels_that_were_refused_once(seed: int) -> None:
    """Reductions that are never executed; conditions, axes and copies of unusual forms."""
    assert _random(range(seed, seed + 1)) == 2


@pytest.mark.deep
@pytest.mark.parametrize("start", range(40_000, 44_000, 200))
def test_thousands_of_random_kernels(start: int) -> None:
    assert _random(range(start, start + 200)) > 300


def _quotient(choices: random.Random, depth: int) -> str:
    """Return a sum of quotients of remainders of sums, in Python as in kernels."""
    if depth == 0:
        return choices.choice(("i", "j", "n", "5"))
    inner, kind, by = _quotient(choices, depth - 1), choices.random(), choices.choice((2, 3, 4, 97))
    if kind < 0.4:
        return f"({inner}) // {by}"
    if kind < 0.75:
        return f"({inner}) % {by}"
    if kind < 0.9:
        other = _quotient(choices, choices.randrange(depth))
        return f"({inner}) {choices.choice('+-')} ({other})"
    return f"({inner})*{choices.choice((2, 3, -1))}"


def _check_quotients(seed: int, count: int) -> None:
    choices = random.Random(seed)
    texts = [f"({_quotient(choices, choices.randint(2, 5))}) % 11" for _ in range(count)]
    lines = [f"o{k}[i, j, {text}] = 1" for k, text in enumerate(texts)]
    shape = "n, n, 11"
    arrays = [pg.GlobalArg(f"o{k}", np.int8, shape) for k in range(count)]
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<n }", "\n".join(lines), [*arrays, "..."],
                         silenced_warnings=["AmbiguousNesting"])  # fmt: skip
    n = 14
    _, found = knl.executor("c")(**{a.name: np.zeros((n, n, 11), np.int8) for a in arrays})
    for text, value in zip(texts, found, strict=True):
        at = [[eval(text, {"i": i, "j": j, "n": n}) for j in range(n)] for i in range(n)]  # noqa: S307
        np.testing.assert_array_equal(value, np.eye(11, dtype=np.int8)[at], text)


def test_quotients_of_remainders() -> None:
    _check_quotients(0, 40)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1, 26))
def test_many_quotients_of_remainders(seed: int) -> None:
    _check_quotients(seed, 40)


def test_a_program_written_by_hand() -> None:
    """One of those that the tests of targets begin with."""
    arrays = (pg.GlobalArg(name, np.float32, "n") for name in ("a", "out"))
    knl = kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", *arrays, name="twice")
    knl = prepare(grid("i", 128)(knl))
    by_name = {argument.name: argument for argument in knl.arguments}
    knl = knl.copy(arguments=tuple(by_name[name] for name in ("a", "out", "n")))
    check(knl, replace(vector_add_grid(), dtypes=kinds(knl)))


@pytest.mark.parametrize("condition", ["x[i] <= x[i]", "x[0] == x[0]", "float32(i) < float32(i)"])
def test_a_number_need_not_equal_itself(condition: str) -> None:
    """Such a comparison is no constraint on integers, though both sides cancel out."""
    text = f"out[i] = 1  {{if={condition}}}\nout[i] = 2  {{if=not {condition}}}"
    domain = "{ [i]: (0<=i<n and i mod 2 = 0) or i = n + 2 }"
    arrays = [pg.GlobalArg(name, np.float64, "n + 3") for name in ("x", "out")]
    knl = kernel(domain, text, *arrays, assumptions="n >= 0")
    _accepted(Example("itself", prepare(knl)))
    x = np.array([1.0, 2, np.nan, 4, np.nan, 6, 7])
    (out,) = knl.executor("c")(x=x, out=np.zeros(7))[1]
    holds = {"x[i] <= x[i]": ~np.isnan(x), "x[0] == x[0]": True, "float32(i) < float32(i)": False}
    expected = np.where(holds[condition], 1, 2) * np.array([1, 0, 1, 0, 0, 0, 1])
    np.testing.assert_array_equal(out, expected)


def test_an_array_that_may_overlap_others_and_that_nothing_touches() -> None:
    """After steps that leave reads out, say."""
    unused = pg.GlobalArg("unused", "float64", "n", may_alias=True)
    knl = grid("i", 4)(kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", unused, "..."))
    assert "unused" in knl.variables
    _accepted(Example("unused", prepare(pg.add_dtypes(knl, {"a": "float64"}))))


def test_an_iname_that_is_a_size_that_the_code_does_not_need() -> None:
    knl = kernel(
        "{ [r,q]: 0<=r<4 and q = n }",
        "out[0] = sum((r, q), a[r + q - n])",
        *(pg.GlobalArg(name, "int32", (4,)) for name in ("a", "out")),
        assumptions="n >= 0",
    )
    programs = _accepted(Example("a size", prepare(knl)))
    assert all("a[r]" in str(program) for program in programs)
    (out,) = knl.executor("c")(a=np.array([3, 1, 4, 1], np.int32), n=5, out=np.zeros(4, np.int32))[
        1
    ]
    assert out[0] == 9
