"""`polygen cache`: what lies in the cache is counted and cleared, and nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from polygen.cli import main
from polygen.runtime.disk import cache
from polygen.runtime.disk.cache_contents import contents

ROOT = Path(__file__).parents[2]
NAMES = ["0" * 64 + ".c", "0" * 64 + ".so", "a1" * 32]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the cache with three entries, a lock, what is unfinished, and others' files."""
    path = tmp_path / "cache"
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(path))
    monkeypatch.delenv("POLYGEN_NO_CACHE", raising=False)
    for name in NAMES:
        cache.store(name, b"x" * 1000)
    (path / ".new-abc").write_bytes(b"y" * 10)
    (path / ".turn-ab").touch()
    (path / "thesis.tex").write_text("mine")
    (path / ("b" * 64)).symlink_to(tmp_path)
    return path


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = 3 * (len(b"polygen cache entry 1\n") + 32 + 1000) + 10
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"folder    {folder}",
        "in use    yes",
        f"entries   3, {size / 1000:.1f} kB",
    ]
    assert cache.load(NAMES[0]) == b"x" * 1000


def test_clear(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["cache", "clear"]) == 0
    shown = capsys.readouterr().out
    assert shown == f"removed 3 entries, 3.2 kB, from {folder}\n"
    left = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_symlink())
    assert left == ["thesis.tex"]
    assert tmp_path.is_dir()
    assert cache.load(NAMES[0]) is None
    cache.store(NAMES[0], b"again")
    assert cache.load(NAMES[0]) == b"again"
    assert main(["cache", "clear"]) == 0
    assert "removed 1 entries" in capsys.readouterr().out


def test_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = tmp_path / "nothing"
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(missing))
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"folder    {missing} (not there)",
        "in use    no: POLYGEN_NO_CACHE is set",
        "entries   0, 0 bytes",
    ]
    assert main(["cache", "clear"]) == 0
    assert not missing.exists()


def test_a_folder_of_another_user(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: other)
    assert main(["cache", "info"]) == 0
    assert f"{folder} (another user's: not used)" in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert (folder / NAMES[0]).exists()


def test_a_folder_that_cannot_be_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refuse)
    assert main(["cache", "clear"]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err == f"polygen: [Errno 13] Permission denied: '{folder}'\n"


_MISTAKES: list[tuple[list[str], str]] = [
    ([], "command"),
    (["cache"], "action"),
    (["cache", "burn"], "invalid choice: 'burn'"),
]


@pytest.mark.parametrize(("arguments", "message"), _MISTAKES)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_as_a_module(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "polygen.cli", "cache", "info"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(folder) in done.stdout


def test_folders_that_change_are_looked_at_again(folder: Path) -> None:
    assert contents().entries == 3
    (folder / NAMES[0]).unlink()
    assert contents().entries == 2


def test_every_variable_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "environment.md").read_text()
    read = re.compile(
        r"environ(?:\.get|\.setdefault)?[(\[]\s*\"(\w+)\"|\"(\w+)\" not in os.environ"
    )
    found = {
        name
        for file in (ROOT / "polygen").rglob("*.py")
        for names in read.findall(file.read_text())
        for name in names
        if name
    }
    assert found >= {"CC", "POLYGEN_CACHE_DIR", "POLYGEN_NO_CACHE", "POLYGEN_PROOFS"}
    assert [name for name in sorted(found) if f"`{name}`" not in text] == []
