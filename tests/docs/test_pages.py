"""The examples of the pages in docs are run, and do what the page says."""

from __future__ import annotations

import doctest
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.lazy.report import ACCOUNT

ROOT = Path(__file__).parents[2]
PAGES = sorted(p for p in (ROOT / "docs").rglob("*.md") if ">>> " in p.read_text())
FIRST = {"README.md", "index.md", "tutorial.md", "builder.md", "kernels.md", "loops.md"}
FENCE = re.compile(r"^```.*$", re.MULTILINE)


def _marks(page: Path) -> list[pytest.MarkDecorator]:
    """Return marks: the pages that newcomers read first are in `make test`."""
    return [] if page.name in FIRST else [pytest.mark.more]


def test_there_are_pages() -> None:
    assert {"dependences.md"} <= {p.name for p in PAGES}


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=_marks(p)) for p in PAGES], ids=lambda p: p.name
)
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # for examples that write files
    ACCOUNT.clear()  # a page shows its own calls, not those of the tests before it
    text = FENCE.sub("", page.read_text())
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert len(test.examples) > 3
    report: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not report, "".join(report)


def test_all_python_on_the_pages_is_run() -> None:
    """Examples are sessions, but for the page of errors; `py` needs a GPU: tests/gpu runs it."""
    block = re.compile(r"^```(python|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    found = [
        (p.name, *m) for p in (ROOT / "docs").rglob("*.md") for m in block.findall(p.read_text())
    ]
    assert {name for name, kind, _ in found if kind == "py"} == {"cuda.md"}
    bare = {name for name, kind, text in found if kind == "python" and ">>> " not in text}
    assert bare == {"errors.md"}


def test_the_readme_shows_what_its_examples_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / "README.md").read_text()
    blocks: list[tuple[str, str]] = re.findall(
        r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    (_, of_python), (_, example), (_, refused) = [b for b in blocks if b[0] == "python"]
    shown = {kind: code for kind, code in blocks[::-1] if kind != "python"}
    (tmp_path / "of_python.py").write_text(of_python)
    names: dict[str, Any] = runpy.run_path(str(tmp_path / "of_python.py"))
    arrays = [np.random.default_rng(1).random(9) for _ in range(4)]
    arrays[2:] = [a.copy() for a in arrays[:2]]
    names["jacobi"](3, *arrays[:2])
    names["jacobi"].__wrapped__(3, *arrays[2:])
    np.testing.assert_allclose(arrays[:2], arrays[2:], rtol=1e-14)
    assert "kernel 'jacobi', 2 instructions" in capsys.readouterr().out
    exec(example, names)  # noqa: S102  (our own page)
    assert capsys.readouterr().out.endswith(shown["c"])
    with pytest.raises(pg.errors.IllegalStep) as caught:
        exec(refused, names)  # noqa: S102
    said = [said for kind, said in blocks if said.startswith("IllegalStep")]
    assert [" ".join(s.split()) for s in said] == [f"IllegalStep: {caught.value.what}"]


def test_the_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 100
    assert max(map(len, lines)) <= 120
