"""The generators of random numbers that there are, as the paper defines them.

What they return is tested with the code that targets make of them:
`tests/targets/expressions/test_random_numbers.py`.
"""

from __future__ import annotations

import numpy as np
import pytest

from polygen.analysis.typing.random_numbers import GENERATORS


def test_all_that_the_paper_recommends() -> None:
    plain = {f"{f}{n}x{bits}" for f in ("philox", "threefry") for n in (2, 4) for bits in (32, 64)}
    assert set(GENERATORS) == plain | {
        f"{name}_f{bits}" for name in plain for bits in (32, 64) if name.endswith(f"x{bits}")
    }


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_words(name: str) -> None:
    """Philox has a key of half as many words as the counter has; Threefry has one of as many."""
    found = GENERATORS[name]
    bits = 32 if "x32" in name else 64
    count = int(name.removeprefix("philox").removeprefix("threefry")[0])
    assert found.name == name
    assert found.count == count
    assert found.keys == (count // 2 if name.startswith("philox") else count)
    assert found.word == np.dtype(f"uint{bits}")
    assert found.dtype == np.dtype(f"float{bits}" if "_f" in name else f"uint{bits}")
