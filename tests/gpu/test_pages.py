"""Examples on the pages of docs that need a GPU: those in `py`, after the sessions before them."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cuda.md"
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SESSION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("at", range(len(BLOCK.findall(PAGE.read_text()))))
def test_example(at: int) -> None:
    block = list(BLOCK.finditer(PAGE.read_text()))[at]
    names: dict[str, object] = {}
    for session in SESSION.findall(block.string[: block.start()]):
        for example in doctest.DocTestParser().get_examples(session):
            exec(example.source, names)  # noqa: S102  (our own page)
    exec(block[1], names)  # noqa: S102
    assert "out" in names
