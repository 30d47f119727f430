"""Each public step and each analysis module has a test file of its name, in the same room."""

from __future__ import annotations

import re
from pathlib import Path

import polygen

PACKAGE, TESTS = Path(polygen.__file__).parent, Path(__file__).parent
PUBLIC = re.compile(r"^@(public|transformation)\b", re.MULTILINE)


def without_tests(package: str, *, public: bool) -> set[str]:
    """Return the modules of a package, or those with a public function, that lack a test file."""
    found = set[str]()
    for path in (PACKAGE / package).rglob("*.py"):
        is_meant = PUBLIC.search(path.read_text(encoding="utf-8")) or not public
        is_helper = path.name == "__init__.py" or (public and path.name.startswith("_"))
        if is_helper or not is_meant:
            continue
        place = path.relative_to(PACKAGE)
        if not (TESTS / place.parent / f"test_{path.stem.lstrip('_')}.py").exists():
            found.add(place.as_posix())
    return found


def test_steps() -> None:
    assert without_tests("transforms", public=True) == set()


def test_analysis() -> None:
    assert without_tests("analysis", public=False) == set()
    assert len(list((PACKAGE / "analysis").rglob("*.py"))) > 100


def test_the_look_notices() -> None:
    assert "lower/lower.py" in without_tests("lower", public=False)
