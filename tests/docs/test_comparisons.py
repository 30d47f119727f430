"""docs/comparisons.md: its figures are those of docs/benchmarks.md, each with its script."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "comparisons.md").read_text()
LONG = (ROOT / "docs" / "benchmarks.md").read_text()
MADE = SimpleNamespace(**runpy.run_path(str(ROOT / "docs" / "images" / "make_comparisons.py")))
SCRIPT = re.compile(r"Script: \[(\w+\.py)\]\(\.\./benchmarks/(\w+\.py)\)(.*?)\n\n", re.DOTALL)
ALL = "".join(page.read_text() for page in (ROOT / "docs").rglob("*.md"))
NAMED = sorted(set(re.findall(r"benchmarks[/.](\w+)(?:\.py|\b)", ALL)) - {"md"})


def rows(text: str) -> list[list[str]]:
    """Return the rows of all tables."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_summary_is_made_from_the_long_page() -> None:
    table = MADE.summary(MADE.measured(LONG))
    assert MADE.with_summary(PAGE, table) == PAGE, "python docs/images/make_comparisons.py"


def test_ratios_are_those_of_the_tables() -> None:
    head = "\n## A\n\n| kernel | polygen | X | Y |\n| - | - | - | - |\n"
    page = f"{head}| a | 2 (9) | 3 | 1 |\n| b | - | 1 | |\n"
    (table,) = MADE.tables(page, "A")
    assert [MADE.best("X", "Y")(row) for row in table] == [0.5, None]
    assert [MADE.inverse("polygen")(row) for row in table] == [1 / 9, None]
    assert MADE.quotient("X", "Y")(table[0]) == 3
    found = MADE.measured(LONG)
    assert all(len(ratios) > 4 for ratios in found.values())
    assert min(min(ratios) for ratios in found.values()) > 0


def test_rows_are_those_of_the_long_page() -> None:
    """The figures of each row are all in one row there."""
    there = [set(row) for row in rows(LONG.replace(" TFLOP/s", ""))]
    behind = rows(PAGE.partition("## Where polygen is behind")[2])
    figures = [{cell for cell in row[1:] if re.match(r"\d", cell)} for row in behind]
    assert len(figures) > 40
    assert [wanted for wanted in figures if not any(wanted <= row for row in there)] == []


def test_figures_in_the_text_are_those_of_the_long_page() -> None:
    behind = PAGE.partition("## Where polygen is behind")[2].partition("\n## ")[0]
    found = re.findall(r"\b\d+\.\d+\b", behind)
    assert len(found) > 5
    assert [n for n in found if n not in LONG] == []
    items = behind.split("\n- ")[1:]
    assert [i for i in items if ".py](../benchmarks/" not in i and "the same script" not in i] == []


def test_each_section_says_script_device_date_and_command() -> None:
    named = SCRIPT.findall(PAGE + "\n\n")
    assert len(named) == PAGE.count("\n| --- |") - 1  # all tables but the summary
    for shown, script, rest in named:
        assert shown == script
        assert "2026" in rest and "python" in rest
        assert "H200" in rest or "cores" in rest or "cpu_" in script


def test_scripts_are_there() -> None:
    folder = ROOT / "benchmarks"
    assert len(NAMED) > 10
    assert [
        n for n in NAMED if not (folder / f"{n}.py").is_file() and not (folder / n).is_dir()
    ] == []
