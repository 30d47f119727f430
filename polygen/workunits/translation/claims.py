"""Claims about the statements that a work unit becomes: by their places, as pragmas make them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from polygen.python.function_source import FunctionSource
from polygen.python.pragmas.pragma_data import AtomicPragma, LoopPragma, Pragma

_Stated = Mapping[tuple[int, int], tuple[Pragma, ...]]


def claims_of(
    source: FunctionSource, loops: Sequence[ast.For], updates: Sequence[ast.stmt]
) -> _Stated:
    """Return the claims that loops are parallel and updates atomic, by their places.

    Parameters:
        source: where the statements are.
        loops: those whose iterations may come in any order.
        updates: those that are atomic.
    """
    found: dict[tuple[int, int], list[Pragma]] = {}
    for one in loops:
        found[one.lineno, one.col_offset] = [
            LoopPragma(
                parallel=True, sequential=False, simd=False, auto_simd=False, shared=(),
                reductions=(), to_device=(), from_device=(), block=None, where=source.place(one),
            )
        ]  # fmt: skip
    for update in updates:
        place = update.lineno, update.col_offset
        found.setdefault(place, []).append(AtomicPragma(source.place(update)))
    return {place: tuple(said) for place, said in found.items()}
