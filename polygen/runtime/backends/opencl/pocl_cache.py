"""Keeps what PoCL compiles as entries of polygen's cache.

PoCL keeps files in a folder.  One that is truncated, or a full disk, ends the process.  So each
process has a folder of its own, into which checked entries are unpacked before PoCL looks there.
"""

from __future__ import annotations

import atexit
import io
import os
import re
import zipfile
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from polygen.runtime.backends.opencl.pocl import PLATFORM
from polygen.runtime.disk import cache as disk
from polygen.runtime.disk.folders import (
    check_room,
    in_private_folder,
    private_folder,
    temporary_files,
)

_VARIABLE = "POCL_CACHE_DIR"
_ROOM = 4 * 2**20  # bytes without which compiling is not begun
# PoCL's names of programs, and below them of kernels and variants of these.
_PROGRAM = re.compile(r"[A-P]{2}/[A-P]+")
_FILE = re.compile(_PROGRAM.pattern + r"(/[\w-]+)*/[\w-]+\.(bc|so)", re.ASCII)
_SHARED_OBJECT = re.compile(r".*\.so")
_FIRST_DATE = (1980, 1, 1, 0, 0, 0)


def give_folder() -> None:
    """Let PoCL have a folder that nobody else writes to, unless the user has named one.

    It reads the name when it is first asked for a device.
    """
    _give_folder(os.getpid())


@cache
def _give_folder(pid: int) -> None:
    given = os.environ.get(_VARIABLE)
    if given is None or in_private_folder(given):  # a process inherits its parent's
        os.environ[_VARIABLE] = str(private_folder() / "pocl")
        atexit.register(_store_all, pid)  # done before the folder is removed


@dataclass
class _Kept:
    """A program that PoCL compiled.

    Attributes:
        folders: where it is, inside of PoCL's folder.
        known: the names of the files that are stored.
    """

    folders: tuple[str, ...]
    known: frozenset[str]


_KEPT: dict[str, _Kept] = {}
_WAITING: set[str] = set()  # of these, no kernel was stored yet


@contextmanager
def kept(device: Any, source: str, options: tuple[str, ...]) -> Generator[None]:
    """Build a program inside of this: PoCL finds what it compiled for the same one before.

    Parameters:
        device: pyopencl's.
        source: the program.
        options: those that it is built with.

    Raises:
        NoTemporaryFiles: if there is no room for PoCL's files.
    """
    if device.platform.name != PLATFORM:
        yield
        return
    root = Path(os.environ[_VARIABLE])
    check_room(root, _ROOM)
    if not disk.caching() or not in_private_folder(str(root)):
        yield
        return
    described = (device.platform.version, device.name, device.version, device.driver_version)
    name = f"{disk.key_of('pocl', *described, source, *options)}.pocl"
    known = _unpacked(name, root)
    with nullcontext() if known else disk.turn(name):
        known = known or _unpacked(name, root)
        before = _programs(root)
        yield
        new = _programs(root) - before
        folders = tuple(sorted({"/".join(file.split("/")[:2]) for file in known} | new))
        _KEPT[name] = _Kept(folders, known)
        _WAITING.add(name)
        _store_waiting(root)


def _programs(root: Path) -> set[str]:
    """Return the folders of programs in PoCL's folder."""
    names = {str(path.relative_to(root)) for path in root.glob("??/*")}
    return {name for name in names if _PROGRAM.fullmatch(name)}


def _unpacked(name: str, root: Path) -> frozenset[str]:
    """Write the files of an entry, if it is there, and return their names."""
    content = disk.load(name)
    if content is None:
        return frozenset()
    with temporary_files(), zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [n for n in archive.namelist() if _FILE.fullmatch(n)]
        for file in names:
            path = root / file
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # PoCL may be reading another program's.
            if not path.exists():
                path.write_bytes(archive.read(file))
    return frozenset(names)


# --- storing


def _store_waiting(root: Path) -> None:
    """Store what is new, until kernels are in it, which PoCL compiles as it first runs them."""
    for name in tuple(_WAITING):
        _store(name, root)
        if any(map(_SHARED_OBJECT.fullmatch, _KEPT[name].known)):
            _WAITING.discard(name)


def _store(name: str, root: Path) -> None:
    """Store a program, if there is something new of it."""
    entry = _KEPT[name]
    files = frozenset(
        str(path.relative_to(root))
        for folder in entry.folders
        for path in (root / folder).rglob("*")
        if _FILE.fullmatch(str(path.relative_to(root)))
    )
    if files == entry.known:
        return
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(files):
            info = zipfile.ZipInfo(file, _FIRST_DATE)
            archive.writestr(info, (root / file).read_bytes(), zipfile.ZIP_DEFLATED)
    disk.store(name, target.getvalue())
    entry.known = files


def _store_all(pid: int) -> None:
    if os.getpid() == pid:
        for name in _KEPT:
            _store(name, Path(os.environ[_VARIABLE]))
