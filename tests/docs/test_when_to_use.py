"""docs/when_to_use.md: how often polygen is at least as fast is what docs/comparisons.md says."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_counts_are_those_of_the_comparisons() -> None:
    page = (DOCS / "when_to_use.md").read_text().partition("## How fast is it?")[2]
    summary = re.findall(
        r"^\| [CG]PU: [^|]*\|[^|]*\| (\d+) \|.*?\| (\d+) \| \[",
        (DOCS / "comparisons.md").read_text(),
        re.MULTILINE,
    )
    measured = {(reached, cases) for cases, reached in summary}
    said = re.findall(r"(\d+) of (\d+)", page)
    assert len(said) == 5
    assert set(said) <= measured, set(said) - measured
