"""polygen.python.block_structure: rewritten functions do what they did, in CPython."""

from __future__ import annotations

import ast
import itertools
from typing import Any

from polygen.python.block_structure import structured

TEXTS = [
    """
def f(x, a, b):
    for i in range(4):
        if a:
            if i == b:
                continue
            x.append(i)
        x.append(-i)
    return x
""",
    """
def f(x, a, b):
    for i in range(4):
        x.append(i)
        if i > a:
            if b:
                return i
            break
        else:
            x.append(10)
    return -1
""",
    """
def f(x, a, b):
    for i in range(3):
        for j in range(3):
            if i*j == b:
                return i, j
            if j == a:
                continue
            x.append(j)
        x.append(7)
    if a:
        return 1
    x.append(8)
    return 2
""",
    """
def f(x, a, b):
    while b < 5:
        b += 1
        if b == 3:
            continue
        if a == b:
            return b
        x.append(b)
    return x
""",
]


def run(function: ast.FunctionDef, a: int, b: int) -> tuple[Any, list[int]]:
    """Run a definition, whose own names may be none of Python's."""
    text = ast.unparse(function).replace("?", "own_")
    scope: dict[str, Any] = {}
    exec(text, scope)  # noqa: S102  (our own text)
    x: list[int] = []
    return scope["f"](x, a, b), x


def test_structured_functions_do_the_same() -> None:
    for text in TEXTS:
        (plain,) = ast.parse(text).body
        (other,) = ast.parse(text).body
        assert isinstance(plain, ast.FunctionDef)
        assert isinstance(other, ast.FunctionDef)
        other.body = structured(other.body)
        ast.fix_missing_locations(other)
        assert not any(isinstance(n, ast.Continue) for n in ast.walk(other))
        for a, b in itertools.product(range(4), repeat=2):
            assert run(other, a, b) == run(plain, a, b)


def test_no_return_is_left_in_a_loop() -> None:
    (function,) = ast.parse(TEXTS[2]).body
    assert isinstance(function, ast.FunctionDef)
    loops = [
        node
        for part in structured(function.body)
        for node in ast.walk(part)
        if isinstance(node, ast.For)
    ]
    assert loops
    assert not any(isinstance(n, ast.Return) for loop in loops for n in ast.walk(loop))
