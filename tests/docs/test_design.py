"""docs/design.md can be read in a window: no line is longer than 120 columns."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "design.md"


def test_no_line_is_longer_than_120_columns() -> None:
    long = {
        number: len(line)
        for number, line in enumerate(PAGE.read_text().splitlines(), start=1)
        if len(line) > 120
    }
    assert long == {}, "wrap these lines of docs/design.md"
