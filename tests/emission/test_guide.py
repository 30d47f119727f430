"""docs/emitting.md: its sessions, in a shell, print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "emitting.md"
SESSION = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_sessions(tmp_path: Path) -> None:
    commands = 0
    for name, command in (("python3", ""), ("polygen", "-m polygen.cli")):
        (tmp_path / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    for session in SESSION.findall(PAGE.read_text()):
        for part in re.split(r"^\$ ", session, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            if line.startswith("cat "):  # here is where the reader gets to know the file
                (tmp_path / line.removeprefix("cat ")).write_text(shown)
                continue
            done = subprocess.run(
                ["sh", "-c", line],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
                env={**os.environ, "PATH": path, "CFLAGS": "-O0"},
            )
            pattern = ".*".join(map(re.escape, shown.split("...")))
            found = done.stdout + done.stderr
            assert re.fullmatch(pattern, found, re.DOTALL), f"{line}\n{found}"
            commands += 1
    assert commands > 1
