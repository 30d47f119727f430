"""Random work units of teams: compiled, they do what threads of Python's do."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen.workunits as pk
from tests.workunits.random_teams import Unit

LEAGUE = 3


def check(seed: int, folder: Path) -> None:
    """Run a random work unit in two spaces."""
    made = Unit(seed)
    path = folder / f"random_team_{seed}.py"
    path.write_text(made.text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: list[Any] = []
    for space in (pk.Debug, pk.Serial):
        count = LEAGUE * made.size
        arrays = {name: np.zeros(count) for name in "yzq"}
        x = np.random.default_rng(seed).random(count)
        policy = pk.TeamPolicy(space, LEAGUE, made.size)
        total = pk.parallel_reduce(policy, module.unit, x=x, **arrays)
        found.append(np.concatenate([*arrays.values(), [total]]))
    np.testing.assert_allclose(found[1], found[0], 1e-9, 1e-9, err_msg=made.text)


@pytest.mark.parametrize("seed", range(3))
def test_a_few(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


@pytest.mark.more
@pytest.mark.parametrize("seed", range(3, 45))
def test_more(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_many(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 100):
        check(seed, tmp_path)
