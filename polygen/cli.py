"""The command `polygen`: `polygen cache info` and `polygen cache clear`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from polygen.runtime.cache import caching
from polygen.runtime.cache_contents import Contents, clear, contents


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status.

    Parameters:
        arguments: those of the command line; the process's own if they are not given.
    """
    chosen = _parser().parse_args(arguments)
    try:
        lines = _cleared() if chosen.action == "clear" else _described(contents())
    except OSError as error:
        sys.stderr.write(f"polygen: {error}\n")
        return 1
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="polygen", description="What polygen keeps on disk for its kernels."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    cache = commands.add_parser("cache", help="compiled kernels on disk")
    actions = cache.add_subparsers(dest="action", required=True, metavar="action")
    actions.add_parser("info", help="say where they are, how many, and how large")
    actions.add_parser("clear", help="remove them")
    return parser


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


if __name__ == "__main__":
    sys.exit(main())
