"""Calls as the instructions that they stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.expansion.inlining import as_units, inlined, parts_of_calls
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from tests.language.called_kernels import ROWS, TWICE
from tests.oracle.interpreter import interpret


def calls(knl: Kernel) -> list[str]:
    return [i.id for i in knl.instructions if isinstance(i, KernelCall)]


def test_no_call_is_left() -> None:
    new = inlined(TWICE)
    assert calls(TWICE) == ["first", "second"]
    assert calls(new) == []
    assert len({insn.id for insn in new.instructions}) == len(new.instructions) == 2
    assert len(set(new.inames)) == len(new.inames)


def test_values() -> None:
    a = np.random.default_rng(1).random((3, 6))
    given: dict[str, Any] = {"a": a, "b": np.zeros((3, 6)), "c": np.zeros((6, 3)), "n": 3}
    typed = pg.add_dtypes(TWICE, dict.fromkeys("abc", "float64"))
    found = interpret(inlined(typed), given).arrays
    np.testing.assert_array_equal(found["b"], 2 * a)
    np.testing.assert_array_equal(found["c"], (2 * a).T * (np.arange(3) + 1))


def test_those_that_are_named() -> None:
    assert calls(inlined(TWICE, ["norm"])) == calls(TWICE)
    assert calls(inlined(TWICE, ["scale"])) == []
    assert calls(inlined(TWICE, [])) == calls(TWICE)


def test_dependencies_are_on_what_stands_for_the_call() -> None:
    new = inlined(TWICE)
    parts = parts_of_calls(TWICE)
    assert parts.keys() == {"first", "second"}
    for name in parts["second"]:
        assert set(parts["first"]) <= new.instruction(name).depends_on


def test_names_depend_on_the_call_alone() -> None:
    again = inlined(TWICE.copy(name="other"))
    assert [i.id for i in again.instructions] == [i.id for i in inlined(TWICE).instructions]
    assert again.inames == inlined(TWICE).inames


def test_units_touch_what_their_parts_touch() -> None:
    units = as_units(ROWS)
    (call,) = units.instructions
    assert isinstance(call, KernelCall)
    assert [sorted(part.written_names) for part in call.parts] == [["out"]]
    assert all("a" in part.read_names for part in call.parts)


@pytest.mark.parametrize("knl", [ROWS, TWICE], ids=["rows", "twice"])
def test_nothing_to_do(knl: Kernel) -> None:
    plain = inlined(knl)
    assert inlined(plain) == plain
