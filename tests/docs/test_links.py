"""The links of the pages lead somewhere, and from the README to every page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.public_steps import public_steps

ROOT = Path(__file__).parents[2]
TOP = ROOT / "README.md"
PAGES = [TOP, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
_LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def _links(page: Path) -> list[tuple[Path, str]]:
    """Return what a page links to, of what is here: each file with a place in it."""
    return [
        ((page.parent / path).resolve() if path else page, place)
        for path, place in _LINK.findall(page.read_text())
        if not path.startswith("http")
    ]


def _places(page: Path) -> set[str]:
    headings: list[str] = _HEADING.findall(page.read_text())
    return {re.sub(r"[^\w\- ]", "", h.strip().lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for file, place in _links(page):
        assert file.is_file(), file
        assert not place or place in _places(file), (file, place)


def test_every_page_can_be_reached() -> None:
    reached: set[Path] = set()
    ahead = [TOP]
    while ahead:
        page = ahead.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        ahead += [file for file, _ in _links(page)]
    assert set(PAGES) - reached == set()


def test_every_transformation_is_named() -> None:
    text = (ROOT / "docs" / "reference" / "steps.md").read_text()
    steps = public_steps()
    assert len(steps) > 90
    assert [step for step in steps if not re.search(rf"\b{step}\b", text)] == []
