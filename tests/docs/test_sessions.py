"""docs/reference/command_line.md: its sessions print what the page says."""

from __future__ import annotations

import io
import re
import shlex
import sys
from pathlib import Path

import pytest

from polygen.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "command_line.md"
SESSION = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands() -> list[tuple[str, str]]:
    """Return each line after a ``$``, and what follows it."""
    found: list[tuple[str, str]] = []
    for session in SESSION.findall(PAGE.read_text()):
        for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            found.append((line, shown))
    return found


def test_sessions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status = 0
    run = 0
    for line, shown in commands():
        program, *arguments = shlex.split(line)
        if program == "cat":  # here is where the reader gets to know the file
            Path(arguments[0]).write_text(shown)
        elif program == "echo":
            assert arguments == ["$?"]
            assert f"{status}\n" == shown, line
        else:
            assert program == "polygen"
            monkeypatch.setattr(sys, "stdin", io.StringIO(""))
            status = main(arguments)
            found = "".join(capsys.readouterr())
            pattern = ".*".join(map(re.escape, shown.split("...")))
            assert re.fullmatch(pattern, found, re.DOTALL), f"{line}\n{found}"
            run += 1
    assert run > 5
