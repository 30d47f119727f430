"""The cache on disk under all that can happen to it: results are right, at worst made again.

`tests/runtime/disk/test_cache.py` has the small versions.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.deep.tools import ROOT

pytestmark = pytest.mark.deep
TARGETS = ("c", "opencl", "cuda")
_OTHER_USER = ("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups")


def start(
    target: str, count: int, folder: Path, before: tuple[str, ...] = (), **more: str
) -> subprocess.Popen[str]:
    environment = {**os.environ, "POLYGEN_CACHE_DIR": str(folder), **more}
    environment.pop("POCL_CACHE_DIR", None)
    return subprocess.Popen(
        [*before, sys.executable, "-m", "tests.deep.cache_job", target, str(count)],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[str], count: int) -> None:
    shown, errors = process.communicate()
    assert process.returncode == 0, errors
    assert shown.split() == [str(k) for k in range(2, 2 + count)]


def check(target: str, count: int, folder: Path, before: tuple[str, ...] = (), **more: str) -> None:
    finish(start(target, count, folder, before, **more), count)


@pytest.mark.parametrize(("target", "count"), [("c", 100), ("opencl", 20), ("cuda", 20)])
def test_sixteen_processes_start_together(target: str, count: int, tmp_path: Path) -> None:
    processes = [start(target, count, tmp_path / "cache") for _ in range(16)]
    for process in processes:
        finish(process, count)
    entries = [p for p in (tmp_path / "cache").iterdir() if not p.name.startswith(".")]
    assert len(entries) == count * (2 if target == "c" else 1)


@pytest.mark.parametrize("target", TARGETS)
def test_killed_at_any_moment(target: str, tmp_path: Path) -> None:
    draw = random.Random(target)
    (tmp_path / "t").mkdir()
    for _ in range(8):
        process = start(target, 200, tmp_path / "cache", TMPDIR=str(tmp_path / "t"))
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(draw.random())
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    for path in (tmp_path / "t").iterdir():
        os.utime(path, (0, 0))
    check(target, 8, tmp_path / "cache", TMPDIR=str(tmp_path / "t"))
    # What the killed ones left is gone; what others than polygen wrote there is not its to remove.
    assert not list((tmp_path / "t").glob("polygen-run-*"))


@pytest.mark.parametrize("target", TARGETS)
def test_damaged_entries(target: str, tmp_path: Path) -> None:
    draw, cache = random.Random(target), tmp_path / "cache"
    for _ in range(4):
        check(target, 4, cache)
        for path in cache.iterdir():
            content = path.read_bytes()
            at = draw.randrange(len(content) + 1)
            damages = (
                content[:at],
                content[:at] + b"\0" + content[at + 1 :],
                draw.randbytes(at),
                content + b"more",
            )
            path.write_bytes(draw.choice(damages))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("size", ["16k", "64k", "1m"])
def test_a_full_disk(target: str, size: str, tmp_path: Path) -> None:
    """The folder is on a disk of that size, in a name space of its own."""
    script = f'mount -t tmpfs -o size={size} none "$POLYGEN_CACHE_DIR" && "$@" && exec "$@"'
    before = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh")
    process = start(target, 25, tmp_path, before)
    shown, errors = process.communicate()
    assert process.returncode == 0, errors
    assert shown.split() == 2 * [str(k) for k in range(2, 27)]


@pytest.mark.parametrize("target", TARGETS)
def test_folders_that_are_not_to_be_had(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "read").mkdir(mode=0o500)
    for name in ("file", "file/cache", "loop", "read/cache"):
        check(target, 2, tmp_path / name)
    check(target, 2, Path("/proc/polygen"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be someone else")
@pytest.mark.parametrize("target", ("c", "opencl"))
def test_folders_of_others(target: str, tmp_path: Path) -> None:
    mine, open_, link = tmp_path / "mine", tmp_path / "open", tmp_path / "link"
    check(target, 2, mine)
    link.symlink_to(mine)
    open_.mkdir()
    open_.chmod(0o777)
    for parent in (tmp_path, *tmp_path.parents[:-2]):
        parent.chmod(0o755)
    before = {path.name: path.read_bytes() for path in mine.iterdir()}
    for folder in (mine, link, open_, open_ / "inside"):
        check(target, 2, folder, _OTHER_USER, PYTHONDONTWRITEBYTECODE="1")
    assert {path.name: path.read_bytes() for path in mine.iterdir()} == before
    assert [path.name for path in open_.iterdir()] == ["inside"]
    assert (open_ / "inside").stat().st_uid == 12345
    assert (open_ / "inside").stat().st_mode & 0o777 == 0o700
    # And the other way round.
    check(target, 2, open_ / "inside")
