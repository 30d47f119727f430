"""docs/tuning_for_a_cpu.md: its figures are those of docs/benchmarks.md."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
BENCHMARKS = (DOCS / "benchmarks.md").read_text()
FIGURE = re.compile(r"\b\d+\.\d+\b")


def text_without_code() -> str:
    page = (DOCS / "tuning_for_a_cpu.md").read_text()
    return re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)


def test_figures_are_measured() -> None:
    measured = set(FIGURE.findall(BENCHMARKS))
    shown = FIGURE.findall(text_without_code())
    assert len(shown) > 50
    quotients = {"0.5", "0.46"}  # an explanation; 3.011/6.483, both on the page
    assert round(3.011 / 6.483, 2) == 0.46
    assert sorted(set(shown) - measured - quotients) == []
