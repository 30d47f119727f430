"""Names of tuples that loops and branches assign."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from polygen.python.tuple_names import without_tuple_names
from tests.python.compared import compare_kernels


def rewritten(text: str, given: dict[str, Any], wanted: tuple[str, ...] = ()) -> str:
    body = without_tuple_names(ast.parse(text).body, given, wanted)
    return "\n".join(ast.unparse(node) for node in body)


def test_text() -> None:
    text = "p = (0, 1)\nfor i in x:\n    p = (i, p[0])"
    assert rewritten(text, {}, ("p",)) == (
        "p.0, p.1 = (0, 1)\nfor i in x:\n    p.0, p.1 = (i, (p.0, p.1)[0])\np = (p.0, p.1)"
    )
    assert rewritten("if c:\n    p = (1, 2)", {"p": (3, 4)}).startswith("p.0, p.1 = p\n")


@pytest.mark.parametrize(
    "text",
    [
        "p = (0, 1)\nq = p",  # no loop assigns it
        "for i in x:\n    p = (i, 1)\n    p = (i,)",
        "for i in x:\n    p = (i, 1)\np = 3",
        "for p in x:\n    p = (i, 1)",
    ],
)
def test_left_alone(text: str) -> None:
    assert rewritten(text, {}) == text
    assert rewritten("if c:\n    p = (1, 2)", {"p": [3, 4]}) == "if c:\n    p = (1, 2)"


def largest(a: Any, best: Any) -> Any:
    for i in range(len(a)):
        if a[i] > best[1]:
            best = (i, a[i])
    place, value = best
    return best, place, value


def test_values(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.array([0.5, 2.5, 1.0])
    compare_kernels([(largest, (x, (-1, np.float64(0.7))))], monkeypatch)
    with pytest.MonkeyPatch.context() as patch:
        compare_kernels([(largest, (x, (-1, np.float64(9.0))))], patch)
