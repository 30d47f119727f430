"""Scripts that are written for Loo.py run after their import line is changed: 90 of 100."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.compat.script_suite import EQUAL, FOLDER, Outcome, differences, name_of, run, scripts

_EVERY = 12  # of so many scripts, `make test` runs one


def known() -> dict[str, str]:
    """Return what becomes of those scripts that do not run unchanged."""
    lines = (FOLDER / "not_unchanged.table").read_text().splitlines()
    rows = [line.split(" | ") for line in lines if line and not line.startswith("#")]
    assert all(len(row) == 3 and row[2] for row in rows)
    return {name: kind for name, kind, _why in rows}


KNOWN = known()
SCRIPTS = scripts()


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(p, marks=[pytest.mark.more] if number % _EVERY else [], id=name_of(p))
        for number, p in enumerate(SCRIPTS)
    ],
)
def test_script(path: Path) -> None:
    outcome = run(path)
    assert outcome.kind == KNOWN.get(outcome.name, EQUAL), outcome.detail


def test_as_many_as_were_announced() -> None:
    rows = re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", (FOLDER / "SUBJECTS.md").read_text(), re.M)
    assert Counter(p.parent.name for p in SCRIPTS) == {name: int(count) for name, count in rows}
    assert len(SCRIPTS) == 300
    assert KNOWN.keys() <= {name_of(p) for p in SCRIPTS}
    assert len(SCRIPTS) - len(KNOWN) >= 0.9 * len(SCRIPTS)


def test_values_are_compared() -> None:
    assert differences({"a": 1.0, "b": [1]}, {"a": 1.0 + 1e-12, "b": [1]}) == []
    assert differences({"a": 1.0, "b": [1]}, {"a": 1.1, "b": [2]}) == ["a", "b"]
    assert differences({"a": 1}, {"b": 1}) == ["the names ['a'] and ['b']"]


def test_what_goes_wrong_is_told_apart(tmp_path: Path) -> None:
    def kind(text: str) -> Outcome:
        path = tmp_path / "script.py"
        path.write_text(f"\nimport loopy as lp\n{text}\nRESULTS = EXPECTED = {{}}\n")
        return run(path)

    assert kind("").kind == EQUAL
    assert kind("RESULTS = {'a': 1}\nEXPECTED = {'a': 2}\nraise KeyError").kind == "raw: KeyError"
    assert kind("lp.nothing").kind == "not here"
    assert kind("lp.make_kernel('{', '')").kind.startswith("refused: Malformed")
