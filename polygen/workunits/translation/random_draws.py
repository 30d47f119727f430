"""Random numbers of a pool as calls of functions of a key, an index and a count."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from polygen.python.names.random_words import random_word
from polygen.python.tree_parts import placed
from polygen.workunits.random_numbers import DRAWS


def drawn(
    method: str,
    pool: ast.expr,
    index: Sequence[ast.expr],
    count: ast.expr,
    given: Sequence[ast.expr],
    call: ast.Call,
    constant: Callable[[Any, ast.AST], ast.expr],
) -> ast.expr | None:
    """Return the call of a function that computes a random number; None if there is none.

    Parameters:
        method: what a state calls it.
        pool: the pool, an array with its key.
        index: the iteration.
        count: how many numbers were drawn before.
        given: the bounds.
        call: where that stands.
        constant: returns what a statement writes for a value.
    """
    function = DRAWS.get(method, {}).get(len(given))
    if function is None:
        return None
    zero = ast.Constant(0)
    key = ast.Subscript(pool, zero, ast.Load())
    first = [*index, zero, zero, zero][:3]
    words = [key, _packed(index[3:]), *first, count]
    word = ast.Call(constant(random_word, call), words, [])
    return placed(ast.Call(constant(function, call), [word, *given], []), call)


def _packed(index: Sequence[ast.expr]) -> ast.expr:
    """Return further indices as one number: of 21 bits each."""
    found: ast.expr = ast.Constant(0)
    for at, number in enumerate(index):
        shifted = ast.BinOp(number, ast.Mult(), ast.Constant(2 ** (21 * at)))
        found = ast.BinOp(found, ast.Add(), shifted)
    return found
