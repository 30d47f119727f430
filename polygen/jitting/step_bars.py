"""A bar on a terminal that shows how far a loop is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from polygen.python.watched_loops import Watch
from polygen.runtime.calls.awaited_events import wait_here


def can_show() -> bool:
    """Tell whether a bar can be shown: on a terminal, if rich is installed."""
    return sys.stderr.isatty() and find_spec("rich") is not None


@contextmanager
def step_bar(title: str, steps: int) -> Generator[Callable[[int], None]]:
    """Show a bar, on the standard error, until the block ends; yield what is told the steps.

    Parameters:
        title: what takes the time.
        steps: how many steps there are.
    """
    rich: Any = import_module("rich.progress")
    console: Any = import_module("rich.console")
    columns = (
        "{task.description}",
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(),
    )
    shown = rich.Progress(*columns, console=console.Console(stderr=True), transient=True)
    with shown:
        task = shown.add_task(title, total=steps)

        def tell(done: int) -> None:
            shown.update(task, completed=done)

        yield tell


class WaitingBars:
    """Bars that are told of steps once the kernels of these are over.

    Parameters:
        bar: shows a bar, as `step_bar` does.
    """

    def __init__(self, bar: Watch) -> None:
        self._bar = bar
        self._last: Any = None

    def noted(self, run: Callable[[dict[str, Any]], object]) -> Callable[[dict[str, Any]], object]:
        """Return what runs a kernel, and notes its event.

        Parameters:
            run: runs it; returns an event, and results.
        """

        def noting(arguments: dict[str, Any]) -> object:
            found: Any = run(arguments)
            self._last = found[0]
            return found

        return noting

    @contextmanager
    def watch(self, title: str, steps: int) -> Generator[Callable[[int], None]]:
        """Show a bar until the block ends.

        Parameters:
            title: what takes the time.
            steps: how many steps there are.
        """
        with self._bar(title, steps) as tell:

            def told(done: int) -> None:
                if self._last is not None:
                    wait_here(self._last)
                    self._last = None
                tell(done)

            yield told
