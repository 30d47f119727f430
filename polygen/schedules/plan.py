"""A kernel as the steps so far have made it, and what was decided on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from polygen.errors import NotOptimized, PriorityIgnored, UserError
from polygen.inspection.devices.limits import Limits
from polygen.ir.choices import Choice
from polygen.ir.kernel import Kernel
from polygen.pipeline import Generated
from polygen.source import gathered


@dataclass(frozen=True)
class Request:
    """The request that a schedule is made for.

    Attributes:
        limits: those of the device.
        units: compute units, or threads of a processor.
        sizes: the value that each size is expected to have.
        on_grid: whether the target has a grid of work items.
        tune: whether candidates are measured.
        picks: what to take where there are alternatives, by what they are about: the label of one.
            Where nothing is said, the model's choice.
    """

    limits: Limits
    units: int
    sizes: Mapping[str, int]
    on_grid: bool
    tune: bool
    picks: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Question:
    """Alternatives that a stage has.

    Attributes:
        about: what they are about, as "tiles of 'c'"; no other question of a kernel is called so.
        labels: what tells them apart, the model's choice first.
        weight: how much there is to gain: operations, say.
    """

    about: str
    labels: tuple[str, ...]
    weight: float


class Plan:
    """A kernel that stages change step by step.

    Attributes:
        given: the kernel at first.
        kernel: the kernel so far.
        request: what is asked for.
        choices: what was decided, in order.
        settled: the ids of the instructions that later stages leave as they are.
        questions: where stages had alternatives, in order.
        code: that of the kernel, if there was a look at it.
        has_own_launches: whether a stage made launches that share nothing with others.
    """

    def __init__(self, kernel: Kernel, request: Request) -> None:
        self.given = kernel
        self.kernel = kernel
        self.request = request
        self.choices: list[Choice] = []
        self.settled: set[str] = set()
        self.questions: list[Question] = []
        self.code: Generated | None = None
        self.has_own_launches = False

    def pick(self, about: str, labels: Sequence[str], weight: float = 1) -> int:
        """Return which of some alternatives to take: the first one, unless the request says else.

        `optimize` with ``tune=True`` asks for a schedule with each of them, and measures it.  A
        stage lists what is worth a look: few, which are all right, whether or not they are legal.

            size = (32, 64, 16)[plan.pick(f"tiles of '{name}'", ("32", "64", "16"))]

        Parameters:
            about: what they are about, as "tiles of 'c'"; the same text each time it is asked.
            labels: what tells them apart, the model's choice first.
            weight: how much there is to gain, as operations: the heaviest are measured first.
        """
        if len(labels) > 1 and all(question.about != about for question in self.questions):
            self.questions.append(Question(about, tuple(labels), weight))
        wanted = self.request.picks.get(about)
        return labels.index(wanted) if wanted in labels else 0

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
        with gathered((NotOptimized, PriorityIgnored)) as left:
            try:
                new = make(self.kernel)
            except UserError as error:
                self.leave(named, what, error.what)
                return False
        for warning in left:
            if isinstance(warning, NotOptimized):  # of a step's own loops, priorities say nothing
                self.leave((), what, _reason(str(warning)))
        if new is not self.kernel:
            self.kernel = new
            self.choices.append(Choice(named, what, why, is_taken=True))
        return True

    def settle(
        self, ids: Iterable[str], what: str, why: str, make: Callable[[Kernel], Kernel]
    ) -> bool:
        """Take a step as `take` does; later stages leave what it is about, and what it makes."""
        before, named = self.kernel.instructions_by_id.keys(), tuple(ids)
        is_taken = self.take(named, what, why, make)
        if is_taken:
            self.settled |= (self.kernel.instructions_by_id.keys() - before) | {*named}
        return is_taken

    def leave(self, ids: Iterable[str], what: str, why: str) -> None:
        """Note what is not done."""
        self.choices.append(Choice(tuple(ids), what, why, is_taken=False))


def _reason(warning: str) -> str:
    """Return what a warning says, without the name of the kernel."""
    return warning.partition(": ")[2]
