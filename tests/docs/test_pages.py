"""The examples of the pages in docs are run, and do what the page says."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if ">>> " in p.read_text())
FENCE = re.compile(r"^```.*$", re.MULTILINE)


def test_there_are_pages() -> None:
    assert {"dependences.md"} <= {p.name for p in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page: Path) -> None:
    text = FENCE.sub("", page.read_text())
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(test.examples) > 3
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)
