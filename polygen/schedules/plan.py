"""A kernel as the steps so far have made it, and what was decided on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from polygen.errors import NotOptimized, UserError
from polygen.inspection.devices.limits import Limits
from polygen.ir.choices import Choice
from polygen.ir.kernel import Kernel
from polygen.source import gathered


@dataclass(frozen=True)
class Request:
    """What a schedule is asked for.

    Attributes:
        limits: those of the device.
        units: compute units, or threads of a processor.
        sizes: the value that each size is expected to have.
        on_grid: whether the target has a grid of work items.
        tune: whether candidates are measured.
    """

    limits: Limits
    units: int
    sizes: Mapping[str, int]
    on_grid: bool
    tune: bool


class Plan:
    """A kernel that stages change step by step.

    Attributes:
        given: the kernel at first.
        kernel: the kernel so far.
        request: what is asked for.
        choices: what was decided, in order.
    """

    def __init__(self, kernel: Kernel, request: Request) -> None:
        self.given = kernel
        self.kernel = kernel
        self.request = request
        self.choices: list[Choice] = []

    def take(
        self, ids: Iterable[str], what: str, why: str, make: Callable[[Kernel], Kernel]
    ) -> bool:
        """Take a step, if it is legal; tell whether it was.

        Parameters:
            ids: the instructions that it is about.
            what: what it does, for people.
            why: what is gained.
            make: the step.
        """
        named = tuple(ids)
        with gathered(NotOptimized) as left:
            try:
                new = make(self.kernel)
            except UserError as error:
                self.leave(named, what, error.what)
                return False
        for warning in left:
            self.leave((), what, _reason(str(warning)))
        if new is not self.kernel:
            self.kernel = new
            self.choices.append(Choice(named, what, why, is_taken=True))
        return True

    def leave(self, ids: Iterable[str], what: str, why: str) -> None:
        """Note what is not done."""
        self.choices.append(Choice(tuple(ids), what, why, is_taken=False))


def _reason(warning: str) -> str:
    """Return what a warning says, without the name of the kernel."""
    return warning.partition(": ")[2]
