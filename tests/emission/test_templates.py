"""Files with gaps, and what is filled into them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from polygen.emission import templates
from polygen.emission.templates import filled, filled_lines

TEXT = """\
int @name@_f(@given@)
{
@lines@
@each row@    use(@a@, @name@);
@each row@@more@
@each other@    end(@a@);
    return @@x; // $@ stays
}
"""

# The sizes for which nothing runs are those of three loops.
EMIT = """
import polygen as pg
knl = pg.make_kernel(
    "{ [i, j, k]: 0<=i<n and 0<=j<m and 0<=k<l }",
    "out[i, j, k] = a[i + j + k]",
    [pg.GlobalArg("a", "float32", shape="n + m + l - 2"), "..."],
    loop_priority="i, j, k",
)
print(*pg.emit(knl, "c").files.values())
"""


@pytest.fixture(autouse=True)
def text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "shared_text", lambda _name: TEXT)


def test_rows_are_repeated_together() -> None:
    rows = [{"a": "x", "more": []}, {"a": "y", "more": ["    more(@a@);", "    last();"]}]
    values = {"name": "k", "given": "int x", "lines": (), "row": rows, "other": []}
    assert filled_lines("any", values) == [
        "int k_f(int x)",
        "{",
        "    use(x, k);",
        "    use(y, k);",
        "    more(@a@);",
        "    last();",
        "    return @@x; // $@ stays",
        "}",
    ]
    assert filled("any", values).endswith("}\n")


def test_a_name_that_has_no_value_is_no_silent_gap() -> None:
    with pytest.raises(KeyError, match="given"):
        filled("any", {"name": "k"})


def test_files_do_not_depend_on_the_order_of_sets() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", EMIT],
            env={
                **os.environ,
                "PYTHONHASHSEED": seed,
                "PYTHONPATH": str(Path(__file__).parents[2]),
            },
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert "((l <= 0) || (m <= 0) || (n <= 0))" in found.pop()
