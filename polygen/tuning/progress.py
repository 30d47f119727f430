"""A bar on a terminal that shows how much of the time for measuring is gone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

Tell: TypeAlias = Callable[[str], None]


@contextmanager
def progress(title: str, seconds: float) -> Generator[Tell]:
    """Show a bar, on the standard error, until the block ends; yield what tells it how it goes.

    Nothing is shown where the standard error is no terminal, or rich is not installed.

    Parameters:
        title: what takes the time.
        seconds: how much time there is.
    """
    if not sys.stderr.isatty() or find_spec("rich") is None:
        yield _nothing
        return
    rich: Any = import_module("rich.progress")
    console: Any = import_module("rich.console")
    begin = time.perf_counter()
    columns = ("{task.description}", rich.BarColumn(), "{task.fields[told]}")
    shown = rich.Progress(*columns, console=console.Console(stderr=True), transient=True)
    with shown:
        task = shown.add_task(title, total=seconds, told="")

        def tell(what: str) -> None:
            gone = min(time.perf_counter() - begin, seconds)
            shown.update(task, completed=gone, told=what)

        yield tell


def _nothing(_: str) -> None:
    """Tell nobody."""
