"""The code of a tiled, prefetched, unrolled product: as golden/sgemm.cl, and with nothing to spare.

``POLYGEN_UPDATE_GOLDEN=1`` writes the file anew: then read it line by line.
"""

from __future__ import annotations

import os
import re
import runpy
from pathlib import Path

import pytest

import polygen as pg

GOLDEN = Path(__file__).parent / "golden" / "sgemm.cl"
EXAMPLE = Path(__file__).parents[2] / "examples" / "sgemm.py"


@pytest.fixture(scope="module")
def text() -> str:
    return f"{pg.generate_code(runpy.run_path(str(EXAMPLE))['typed'](), 'opencl')}\n"


def test_it_is_the_golden_file(text: str) -> None:
    if "POLYGEN_UPDATE_GOLDEN" in os.environ:
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()


def test_no_guard(text: str) -> None:
    assert "if (" not in text
    assert "?" not in text


def test_two_barriers_a_tile_for_local_memory_alone(text: str) -> None:
    assert re.findall(r"barrier\((.*)\)", text) == ["CLK_LOCAL_MEM_FENCE"] * 2


def test_no_two_variables_are_the_same(text: str) -> None:
    values: list[str] = re.findall(r" const \w+ = (.*);", text)
    assert len(values) == len(set(values)) == 4


def test_each_variable_is_used(text: str) -> None:
    declared = re.findall(
        r"(?:int|float)(?: const)?(?: \*restrict)? (\w+)(?:\[\d+\])?[;,) =]", text
    )
    assert {"i_item", "acc", "a_own", "b_tile", "alpha", "l"} <= set(declared)
    for name in declared:
        assert len(re.findall(rf"\b{name}\b", text)) >= 2, name


def test_each_element_is_read_once_for_each_k(text: str) -> None:
    """What an item needs of a tile is in registers: 4 + 4 reads for 16 products."""
    body = text.partition("k_inner < 8; ++k_inner) {")[2].partition("barrier")[0]
    assert len(re.findall(r"= [ab]_tile\[", body)) == 4 + 4
    products = re.findall(r"acc\[(\d+)\] \+= a_own\[(\d)\] \* b_own\[(\d)\];", body)
    assert sorted(tuple(map(int, p)) for p in products) == [
        (4 * i + j, i, j) for i in range(4) for j in range(4)
    ]
