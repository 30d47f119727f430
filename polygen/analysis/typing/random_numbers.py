"""Counter-based random numbers: functions of a counter and a key, without any state.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from polygen.ir.dtype import DType


@dataclass(frozen=True, slots=True)
class Generator:
    """A function of a counter and a key that returns as many random numbers as the counter is long.

    ``a, b, c, d = philox4x32(c0, c1, c2, c3, k0, k1)``: words of the counter, then of the key.
    ``philox4x32_f32`` returns numbers that are at least 0 and less than 1 instead.

    Attributes:
        name: its name.
        family: ``philox`` or ``threefry``.
        count: how many words the counter has, and how many numbers are returned.
        keys: how many words the key has.
        word: the type of a word.
        dtype: the type of the numbers that are returned.
    """

    name: str
    family: str
    count: int
    keys: int
    word: DType
    dtype: DType


def _generators() -> Iterable[Generator]:
    for family in ("philox", "threefry"):
        for bits in (32, 64):
            for count in (2, 4):
                keys = count // 2 if family == "philox" else count
                name, word = f"{family}{count}x{bits}", np.dtype(f"uint{bits}")
                yield Generator(name, family, count, keys, word, word)
                result = np.dtype(f"float{bits}")
                yield Generator(f"{name}_f{bits}", family, count, keys, word, result)


GENERATORS = {generator.name: generator for generator in _generators()}
