"""The cache on disk: whatever happens to it, results are right."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polygen.runtime import cache

_SCRIPT = """
import numpy as np, polygen as pg
for factor in range(2, 2 + {kernels}):
    knl = pg.make_kernel("{{ [i]: 0<=i<n }}", f"out[i] = {{factor}}*a[i]")
    _, (out,) = knl.executor("c")(a=np.arange(5.0))
    assert (out == factor * np.arange(5)).all()
    print(factor, flush=True)
"""


def _start(folder: Path, kernels: int = 1, **more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "POLYGEN_CACHE_DIR": str(folder), **more}
    return subprocess.Popen(
        [sys.executable, "-c", _SCRIPT.format(kernels=kernels)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _run(folder: Path, kernels: int = 1, **more: str) -> None:
    process = _start(folder, kernels, **more)
    _, shown = process.communicate()
    assert process.returncode == 0, shown


def _entries(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the cache, which this process uses as well."""
    path = tmp_path / "cache"
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(path))
    return path


def test_entries_come_back(folder: Path) -> None:
    assert cache.load("x.so") is None
    cache.store("x.so", b"content")
    assert cache.load("x.so") == b"content"
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: entry[:-1],
        lambda entry: entry[:20],
        lambda entry: b"",
        lambda entry: b"garbage" * 1000,
        lambda entry: entry[:-1] + b"X",
        lambda entry: entry + b"X",
    ],
)
def test_damaged_entries_are_none(folder: Path, damage: object) -> None:
    cache.store("x.so", b"content")
    assert callable(damage)
    (folder / "x.so").write_bytes(damage((folder / "x.so").read_bytes()))
    assert cache.load("x.so") is None
    cache.store("x.so", b"content")
    assert cache.load("x.so") == b"content"


def test_entries_under_another_name_are_none(folder: Path) -> None:
    cache.store("x.so", b"content")
    (folder / "y.so").write_bytes((folder / "x.so").read_bytes())
    (folder / "z.so").symlink_to(folder / "x.so")
    (folder / "d.so").mkdir()
    assert [cache.load(name) for name in ("y.so", "z.so", "d.so")] == [None] * 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_entries_of_others_are_none(folder: Path) -> None:
    cache.store("x.so", b"content")
    os.chown(folder / "x.so", 12345, 12345)
    assert cache.load("x.so") is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_folder_of_someone_else_is_left_alone(folder: Path) -> None:
    folder.mkdir(mode=0o777)
    os.chown(folder, 12345, 12345)
    cache.store("x.so", b"content")
    assert list(folder.iterdir()) == []
    assert cache.folder() != folder
    assert cache.load("x.so") == b"content"


def test_open_folder_is_closed(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    folder.chmod(0o777)
    assert cache.folder() == folder
    assert folder.stat().st_mode & 0o777 == 0o700


def test_folder_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file" / "cache", Path("/proc/polygen")):
        monkeypatch.setenv("POLYGEN_CACHE_DIR", str(path))
        cache.store("x.so", b"content")
        assert cache.load("x.so") == b"content"
        _run(path)


def test_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("x.so", b"old")

    def full(_path: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    cache.store("x.so", b"content")
    assert cache.load("x.so") == b"old"
    assert [path.name for path in folder.iterdir()] == ["x.so"]


def test_leftovers_go(folder: Path) -> None:
    cache.store("x.so", b"content")
    old, new = folder / ".new-old", folder / ".new-new"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    cache._sweep.cache_clear()  # pyright: ignore[reportPrivateUsage]
    cache.store("y.so", b"content")
    assert new.exists() and not old.exists()


def test_nothing_is_kept_if_so_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("x.so", b"content")
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    assert cache.load("x.so") is None
    cache.store("y.so", b"content")
    assert not (folder / "y.so").exists()
    before = _entries(folder)
    _run(folder, POLYGEN_NO_CACHE="1")
    assert _entries(folder) == before


def test_second_process_does_not_compile(folder: Path) -> None:
    _run(folder)
    before = _entries(folder)
    assert sorted(Path(name).suffix for name in before) == [".c", ".so"]
    # A compiler that says who it is, and then refuses.
    compiler = folder.parent / "gcc"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec gcc --version\nexec gcc "$@"\n', encoding="utf-8"
    )
    compiler.chmod(0o755)
    _run(folder, CC=str(compiler))
    after = _entries(folder)
    assert len(after) == 4  # another path is another compiler
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exec gcc --version\nexit 1\n')
    _run(folder, CC=str(compiler))
    assert _entries(folder) == after


@pytest.mark.parametrize("damage", ["truncate", "garbage"])
def test_damaged_objects_are_compiled_again(folder: Path, damage: str) -> None:
    _run(folder)
    before = _entries(folder)
    (name,) = (name for name in before if name.endswith(".so"))
    content = before[name]
    broken = content[: len(content) // 2] if damage == "truncate" else b"\x7fELF" + content[:-4]
    (folder / name).write_bytes(broken)
    _run(folder)
    assert (folder / name).read_bytes() != broken


def test_processes_that_start_together(folder: Path) -> None:
    processes = [_start(folder, kernels=2) for _ in range(5)]
    for process in processes:
        _, shown = process.communicate()
        assert process.returncode == 0, shown
    assert len(_entries(folder)) == 4


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.1])
def test_killed_process(folder: Path, delay: float) -> None:
    process = _start(folder, kernels=50)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    _run(folder, kernels=3)
