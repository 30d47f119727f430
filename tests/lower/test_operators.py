"""All operations on all types, in several forms: NumPy computes the same."""

from __future__ import annotations

import pytest

from tests.operators import TYPES, check, groups, loop, stages, tree


def test_loops_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    check([(loop, 50)], "c", monkeypatch)


def test_other_forms_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    check([(tree, 13), (stages, 22)], "c", monkeypatch, ("float32",))


def test_trees_in_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    check([(tree, 13)], "opencl", monkeypatch, ("bfloat16",))


@pytest.mark.more
def test_groups_in_c(monkeypatch: pytest.MonkeyPatch) -> None:
    check([(groups, 45)], "c", monkeypatch, ("float32",), alone=True)


@pytest.mark.deep
def test_groups_in_opencl(monkeypatch: pytest.MonkeyPatch) -> None:
    check([(groups, 45), (groups, 5)], "opencl", monkeypatch, TYPES, alone=True)


@pytest.mark.deep
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_all_forms(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check([(loop, 1), (tree, 13), (tree, 32), (stages, 22)], target, monkeypatch)
