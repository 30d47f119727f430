"""Scripts that compile as they run: run once, so that a second process finds all of it on disk."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

from polygen.cli.files import contents as file_contents
from polygen.cli.scripts import neighbours, reported
from polygen.errors import InvalidArgument
from polygen.lazy.fused_calls import TRACE
from polygen.runtime.disk.cache import caching
from polygen.runtime.disk.cache_contents import Contents, contents

_FOLDER = "POLYGEN_CACHE_DIR"


def kept_programs(
    script: str, folder: str | None, arguments: Sequence[str]
) -> tuple[Contents, int]:
    """Run a script, and return what is on disk then, and how many entries are new.

    Parameters:
        script: its path.
        folder: where compiled programs are kept; None for the cache's own folder.
        arguments: what the script finds in `sys.argv`.

    Raises:
        UnreadableFile: if the script is not there, or cannot be read.
        InvalidArgument: if it raises an error that is not polygen's, or nothing may be kept.
        UserError: what a call of the script raises.
    """
    file_contents(script)
    if not caching():
        raise InvalidArgument(
            "POLYGEN_NO_CACHE is set, so that nothing compiled is kept", where=script
        )
    with _kept_in(folder):
        before = contents().entries
        with redirect_stdout(sys.stderr), neighbours(Path(script)), reported(script):
            _run(script, arguments)
            TRACE.flush()
        found = contents()
    return found, found.entries - before


def _run(script: str, arguments: Sequence[str]) -> None:
    """Run a script as ``python script.py`` would."""
    before, sys.argv = sys.argv, [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ending:
        if ending.code not in (None, 0):
            raise
    finally:
        sys.argv = before


@contextmanager
def _kept_in(folder: str | None) -> Generator[None]:
    """Let compiled programs be kept in a folder, which is made if it is not there."""
    before = os.environ.get(_FOLDER)
    if folder is not None:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        os.environ[_FOLDER] = str(Path(folder).absolute())
    try:
        yield
    finally:
        if folder is not None:
            os.environ.pop(_FOLDER)
            if before is not None:
                os.environ[_FOLDER] = before
