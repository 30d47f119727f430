"""The cache on disk: whatever happens to it, results are right."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import polygen as pg
from polygen.errors import NoTemporaryFiles
from polygen.runtime.disk import cache, folders
from polygen.runtime.disk.folders import folder as folder_of_cache
from tests.few import few

_SCRIPT = """
import numpy as np, polygen as pg
for factor in range(2, 2 + {kernels}):
    knl = pg.make_kernel("{{ [i]: 0<=i<n }}", f"out[i] = {{factor}}*a[i]")
    _, (out,) = knl.executor("{target}")(a=np.arange(5.0))
    assert (out == factor * np.arange(5)).all()
    print(factor, flush=True)
"""


def _start(folder: Path, kernels: int = 1, target: str = "c", **more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "POLYGEN_CACHE_DIR": str(folder), **more}
    del environment["POCL_CACHE_DIR"]
    return subprocess.Popen(
        [sys.executable, "-c", _SCRIPT.format(kernels=kernels, target=target)],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _run(folder: Path, kernels: int = 1, target: str = "c", **more: str) -> None:
    process = _start(folder, kernels, target, **more)
    _, shown = process.communicate()
    assert process.returncode == 0, shown


def _entries(folder: Path) -> dict[str, bytes]:
    """Return what is kept of kernels: without locks, what is half-written, the helper of calls."""
    files = (path for path in folder.iterdir() if path.is_file())
    kept = {path.name: path.read_bytes() for path in files if not path.name.startswith(".")}
    helpers = {Path(name).stem for name, text in kept.items() if b"pg_quick_call(Py" in text}
    return {name: content for name, content in kept.items() if Path(name).stem not in helpers}


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
    assert folder_of_cache() != folder
    assert cache.load("x.so") == b"content"


def test_open_folder_is_closed(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    folder.chmod(0o777)
    assert folder_of_cache() == folder
    assert folder.stat().st_mode & 0o777 == 0o700


@pytest.mark.more
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
    folder.mkdir()
    old, new = folder / ".new-old", folder / ".new-new"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    assert folder_of_cache() == folder
    assert new.exists() and not old.exists()


def test_folders_of_killed_processes_go(tmp_path: Path) -> None:
    dead, alive, new, other = (
        tmp_path / name
        for name in ("polygen-run-1", "polygen-run-2", "polygen-run-3", "polygen-tests-1")
    )
    for path in (dead, alive, new, other):
        path.mkdir()
        (path / ".lock").touch()
        os.utime(path, None if path == new else (0, 0))
    with (alive / ".lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folders._sweep_private(tmp_path)  # pyright: ignore[reportPrivateUsage]
    assert [path.exists() for path in (dead, alive, new, other)] == [False, True, True, True]


def test_a_folder_that_others_use_stays_open(folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.tex").touch()
    folder.chmod(0o777)
    cache.store("x.so", b"content")
    assert folder.stat().st_mode & 0o777 == 0o777
    assert [path.name for path in folder.iterdir()] == ["thesis.tex"]
    assert cache.load("x.so") == b"content"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_link_of_someone_else_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "mine")
    os.chown(folder, 12345, 12345, follow_symlinks=False)
    assert folder_of_cache() != folder


def test_a_link_of_ones_own_is_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "mine")
    assert folder_of_cache() == folder


def test_what_is_no_file_is_no_entry(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "x.so")
    assert cache.load("x.so") is None


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POLYGEN_CACHE_DIR")

    def lost(_: str) -> str:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.setattr("platformdirs.user_cache_dir", lost)
    assert folders.chosen_folder().name == f"polygen-{os.geteuid()}"


def test_other_versions_of_polygen_have_other_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    name = cache.key_of("c", "source")
    assert cache.key_of("c", "source") == name
    monkeypatch.setattr(pg, "__version__", "0.0.1")
    assert cache.key_of("c", "source") != name


def test_one_of_several_makes_what_all_need(folder: Path) -> None:
    made: list[int] = []

    def make() -> bytes:
        time.sleep(0.1)
        made.append(1)
        return b"content"

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: cache.kept("ab.so", make), range(4)))
    assert found == [b"content"] * 4
    assert made == [1]


def test_a_turn_that_never_comes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_LONGEST_TURN", 0.05)
    folder_of_cache()
    with (folder / ".turn-ab").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert cache.kept("ab.so", lambda: b"content") == b"content"
    assert cache.load("ab.so") == b"content"


def test_no_temporary_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def full(_: Path, __: bytes) -> None:
        raise OSError(28, "No space left on device")

    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 77*i")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(NoTemporaryFiles, match=f"to '{tmp_path}': No space left on device"):
            knl.executor("c")(n=3)
    assert list(knl.executor("c")(n=3)[1][0]) == [0, 77, 154]
    with pytest.raises(NoTemporaryFiles, match=r"room for .* bytes, and .* may be needed"):
        folders.check_room(tmp_path, 2**60)


def test_nothing_is_kept_if_so_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store("x.so", b"content")
    monkeypatch.setenv("POLYGEN_NO_CACHE", "1")
    assert cache.load("x.so") is None
    cache.store("y.so", b"content")
    assert not (folder / "y.so").exists()
    before = _entries(folder)
    _run(folder, POLYGEN_NO_CACHE="1")
    assert _entries(folder) == before


@pytest.mark.more
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


@few(1, "damage", ["truncate", "garbage"])
def test_damaged_objects_are_compiled_again(folder: Path, damage: str) -> None:
    _run(folder)
    before = _entries(folder)
    (name,) = (name for name in before if name.endswith(".so"))
    content = before[name]
    broken = content[: len(content) // 2] if damage == "truncate" else b"\x7fELF" + content[:-4]
    (folder / name).write_bytes(broken)
    _run(folder)
    assert (folder / name).read_bytes() != broken


@pytest.mark.more
def test_processes_that_start_together(folder: Path) -> None:
    processes = [_start(folder, kernels=2) for _ in range(5)]
    for process in processes:
        _, shown = process.communicate()
        assert process.returncode == 0, shown
    assert len(_entries(folder)) == 4


@pytest.mark.parametrize(
    "delay",
    [pytest.param(0.0, marks=pytest.mark.more), 0.02, pytest.param(0.1, marks=pytest.mark.more)],
)
@pytest.mark.more
def test_killed_process(folder: Path, delay: float) -> None:
    process = _start(folder, kernels=50)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    _run(folder, kernels=3)


@pytest.mark.more
def test_what_pocl_compiled_is_kept_and_checked(folder: Path) -> None:
    _run(folder, target="opencl")
    ((name, entry),) = _entries(folder).items()
    assert name.endswith(".pocl")
    _run(folder, target="opencl")
    assert _entries(folder) == {name: entry}  # what PoCL compiles again differs
    # The process would end if PoCL saw this.
    (folder / name).write_bytes(entry[: len(entry) // 2])
    _run(folder, target="opencl")
    assert cache.load(name) is not None
