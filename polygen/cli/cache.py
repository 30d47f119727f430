"""`polygen cache info` and `polygen cache clear`: what is kept on disk."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from polygen.runtime.disk.cache import caching
from polygen.runtime.disk.cache_contents import Contents, clear, contents


def add_command(commands: Any) -> None:
    """Add the subcommand."""
    cache: argparse.ArgumentParser = commands.add_parser("cache", help="compiled kernels on disk")
    actions = cache.add_subparsers(dest="action", required=True, metavar="action")
    actions.add_parser("info", help="say where they are, how many, and how large")
    actions.add_parser("clear", help="remove them")
    cache.set_defaults(run=run)


def run(chosen: argparse.Namespace) -> int:
    """Describe or clear the cache."""
    lines = _cleared() if chosen.action == "clear" else _described(contents())
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _described(found: Contents) -> list[str]:
    return [
        f"folder    {found.folder}{_remark(found.folder)}",
        f"in use    {'yes' if caching() else 'no: POLYGEN_NO_CACHE is set'}",
        f"entries   {found.entries}, {_size(found.entry_bytes)}",
    ]


def _remark(folder: Path) -> str:
    if not folder.is_dir():
        return " (not there)"
    return "" if folder.stat().st_uid == os.geteuid() else " (another user's: not used)"


def _cleared() -> list[str]:
    found = clear()
    return [f"removed {found.entries} entries, {_size(found.entry_bytes)}, from {found.folder}"]


def _size(count: int) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
