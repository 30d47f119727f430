"""docs/installation.md names every extra, and the Python that the package asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "installation.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_extra_is_there() -> None:
    table = PAGE.partition("## Extras")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(
        PROJECT["optional-dependencies"]
    )


def test_the_least_python_is_there() -> None:
    assert f"| {PROJECT['requires-python'].removeprefix('>=')} or later |" in PAGE
