"""Loop programs with a mistake are refused, or do the same all the same: both are executed.

`pytest -rP tests/validation/test_mutants.py` shows how many of which kind were refused.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest

from polygen.errors import WrongLoopProgram
from polygen.lower.lower import Model, lower_prepared
from polygen.validation.validate import check
from tests.few import few
from tests.validation.judge import differs
from tests.validation.kernels import Example, examples, random_example
from tests.validation.mutants import KINDS, mutants

_MODELS = tuple(Model)


@dataclass
class Tally:
    """What became of mutants.

    Attributes:
        refused: how many were, of each kind, and with which error.
        harmless: how many were accepted, of each kind; they do what the program does.
        missed: those that were accepted and do something else.
    """

    refused: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    harmless: Counter[str] = field(default_factory=Counter[str])
    missed: list[str] = field(default_factory=list[str])

    def judge(self, example: Example, model: Model) -> None:
        """Make mutants of a loop program, and check them."""
        program = lower_prepared(example.kernel, model)
        for mutant in mutants(program, random.Random(f"{example.name} {model}")):
            try:
                check(example.kernel, mutant.program)
            except WrongLoopProgram as error:
                self.refused[mutant.what, type(error).__name__] += 1
                continue
            how = differs(program, mutant.program, [example.arguments])
            if how is None:
                self.harmless[mutant.what] += 1
            else:
                text = f"{example.name}, {model}: {mutant.what}: {how}\n{mutant.program}"
                self.missed.append(text)

    def report(self) -> None:
        """Print what became of them."""
        for (what, error), count in sorted(self.refused.items()):
            print(f"{what:48} {error:18} {count:5}")  # noqa: T201
        for what, count in sorted(self.harmless.items()):
            print(f"{what:48} {'harmless':18} {count:5}")  # noqa: T201


def _tally(chosen: Iterable[Example], *, alternating: bool = False) -> Tally:
    """Judge mutants of examples, as they are lowered for all models, or for one after the other."""
    tally = Tally()
    for number, example in enumerate(chosen):
        for model in (_MODELS[number % len(_MODELS)],) if alternating else _MODELS:
            tally.judge(example, model)
    tally.report()
    return tally


def _random(seeds: range) -> Iterator[Example]:
    for seed in seeds:
        example = random_example(seed)
        if example is not None:
            yield example


@pytest.mark.parametrize(
    ("step", "alternating"),
    [
        (3, True),
        pytest.param(1, True, marks=pytest.mark.more),
        pytest.param(1, False, marks=pytest.mark.deep),
    ],
    ids=["some", "half", "all"],
)
def test_mutants_of_examples(step: int, *, alternating: bool) -> None:
    tally = _tally(examples()[::step], alternating=alternating)
    assert tally.missed == []
    assert tally.refused.total() > (500 if alternating else 1000) // step
    seen = {what for what, _ in tally.refused}
    assert seen == KINDS if step == 1 else len(seen) > 0.6 * len(KINDS)
    # Some change nothing: a barrier for memory that nobody shares, say.
    assert tally.harmless.total() < tally.refused.total() // 5


@few(1, "count", [6, 20])
def test_mutants_of_random_kernels(count: int) -> None:
    tally = _tally(_random(range(count)), alternating=True)
    assert tally.missed == []
    assert tally.refused.total() > 5 * count


@pytest.mark.deep
@pytest.mark.parametrize("start", range(50_000, 51_000, 50))
def test_thousands_of_mutants(start: int) -> None:
    tally = _tally(_random(range(start, start + 50)))
    assert tally.missed == []
    assert tally.refused.total() > 500


def test_the_judge_can_tell() -> None:
    """Executed, most mutants do something else."""
    example = next(e for e in examples() if e.name == "tile_in_a_loop_n3_m4")
    program = lower_prepared(example.kernel, Model.GRID)
    found = list(mutants(program, random.Random(0)))
    noticed = [m for m in found if differs(program, m.program, [example.arguments]) is not None]
    assert len(noticed) > len(found) // 2
