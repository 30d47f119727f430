"""The parts of what is shown of a kernel: each has a title, and is made when it is needed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from polygen.analysis.dataflow.dependences import dependences
from polygen.analysis.integers.proving import without_proofs
from polygen.errors import PolygenWarning, ProofLimit, UserError
from polygen.inspection.compare.text_difference import diff
from polygen.inspection.pages.elements import Html, code, element, folded, joined, refusal
from polygen.inspection.pages.highlight import difference, highlighted, roles
from polygen.inspection.pages.script import step_line
from polygen.inspection.pages.svg_graph import graph
from polygen.ir.kernel import Kernel
from polygen.ir.show import called_kernels, sections
from polygen.ir.tags import AutoLocalTag, LocalTag
from polygen.ir.target_facts import TARGET_FACTS
from polygen.ir.told import telling_anew
from polygen.pipeline import generate_code

_PLURALS = {"instruction": "instructions", "step": "steps", "loop": "loops"}


@dataclass(frozen=True)
class Part:
    """Something to show of a kernel.

    Attributes:
        title: what stands above it.
        make: returns it; what cannot be had raises an error, which is shown instead.
        is_open: whether it is shown before it is asked for.
        count: how many things there are in it, as text, or nothing.
    """

    title: str
    make: Callable[[], Html]
    is_open: bool = False
    count: str = ""


class Budget:
    """A time budget for the parts of a page.

    Parameters:
        seconds: once they are over, no further part is begun; None for as long as it takes.
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else perf_counter() + seconds

    @property
    def is_spent(self) -> bool:
        """Whether the time is over."""
        return self._end is not None and perf_counter() >= self._end


def shown(part: Part, budget: Budget, heading: str, name: str | None = None) -> Html:
    """Return a part that can be closed: its content, or why there is none.

    Parameters:
        part: what to show.
        budget: how much time may pass before it is left out.
        heading: the element that its title is.
        name: what links to it call it, if there are any.
    """
    count = element("span", f" {part.count}", class_="count") if part.count else Html("")
    summary = joined((element(heading, part.title), count))
    # Browsers open what a link leads into, not what it leads to.
    target = () if name is None else (element("div", id=name, class_="target"),)
    return folded(summary, *target, content(part, budget), is_open=part.is_open)


def content(part: Part, budget: Budget) -> Html:
    """Return what a part has to show, or why it is not there."""
    if budget.is_spent:
        text = 'Left out, so that this appears at once. It is in pg.report(knl, "report.html").'
        return element("p", text, class_="note")
    try:
        return part.make()
    except UserError as error:
        return refusal(error)


def parts(kernel: Kernel) -> list[Part]:
    """Return what there is to show of a kernel, what is made quickly first."""
    called = called_kernels(kernel)
    found = list(_text(kernel))
    found += [Part(f"Kernel {name}", partial(_whole_text, k)) for name, k in called.items()]
    found.append(Part("Graph of dependences", lambda: _graph(kernel)))
    if kernel.history:
        count = f"{_number(len(kernel.history), 'step')}"
        found.append(Part("History", lambda: history(kernel), count=count))
    for target in _targets(kernel):
        found.append(Part(f"Source: {TARGET_FACTS[target].title}", partial(source, kernel, target)))
    return found


def _targets(kernel: Kernel) -> list[str]:
    """Return the names of the targets, first the one that the kernel is most likely meant for."""
    # Threads of a processor are groups of one work item.
    items = any(isinstance(tag, LocalTag | AutoLocalTag) for tag in kernel.tags.values())
    likely = (name for name, facts in TARGET_FACTS.items() if facts.has_grid == items)
    first = kernel.target or next(likely)
    return [first, *(name for name in TARGET_FACTS if name != first)]


def headline(kernel: Kernel) -> str:
    """Return in a few words what a kernel consists of."""
    words = [_number(len(kernel.inames), "loop"), _number(len(kernel.instructions), "instruction")]
    if kernel.history:
        words.append(_number(len(kernel.history), "step"))
    if kernel.target:
        words.append(f"for {TARGET_FACTS[kernel.target].title}")
    return ", ".join(words)


def _number(count: int, what: str) -> str:
    return f"{count} {what if count == 1 else _PLURALS[what]}"


def _text(kernel: Kernel) -> Iterable[Part]:
    """Yield the sections of a kernel's text."""
    names = roles(kernel)
    for title, lines in sections(kernel):
        if lines:
            shown_lines = [highlighted(line, names) for line in lines]
            count = str(len(lines))
            yield Part(title.capitalize(), partial(code, *shown_lines), is_open=True, count=count)


def _whole_text(kernel: Kernel) -> Html:
    return code(highlighted(str(kernel), roles(kernel)))


def _graph(kernel: Kernel) -> Html:
    try:
        found = dependences(kernel)
    except ProofLimit as error:  # the rest of the picture can be drawn
        said = element("p", f"Without dependences: {error}", class_="refusal")
        return joined((said, graph(kernel, ())))
    lines = [highlighted(str(d), roles(kernel)) for d in found]
    return joined((graph(kernel, found), code(*lines) if lines else Html("")))


def history(kernel: Kernel) -> Html:
    """Return the steps that led to a kernel, each with what it changed.

    They are taken again, without proofs: they were proved when they were taken.
    """
    before = kernel.original or kernel
    lines: list[Html] = []
    with without_proofs():
        for step in kernel.history:
            after = step.apply(before, **dict(step.arguments))
            written = step_line(step)
            title = str(step) if written is None else written.removeprefix("knl = ")
            lines.append(_step(title, before, after, kernel))
            before = after
    if before != kernel:  # the order of loops that nothing named, for one
        lines.append(_step("settled by the proofs of these steps", before, kernel, kernel))
    return element("ol", *lines)


def _step(title: str, before: Kernel, after: Kernel, last: Kernel) -> Html:
    names = roles(last) | roles(before) | roles(after)
    summary = element("span", highlighted(title, names), class_="step")
    changes = diff(before, after)
    same = element("p", "The kernel's text is the same.", class_="note")
    said = code(difference(changes)) if changes else same
    return element("li", folded(summary, said))


def source(kernel: Kernel, target: str) -> Html:
    """Return the generated source of a kernel for a target."""
    names = {name: role for name, role in roles(kernel).items() if role != "size"}
    return code(highlighted(str(generate_code(kernel, target)), names))


@contextmanager
def warnings_noted() -> Generator[list[str]]:
    """Collect the texts of polygen's warnings instead of issuing them."""
    noted: list[str] = []
    with telling_anew(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PolygenWarning)
        yield noted
    noted += dict.fromkeys(str(w.message) for w in caught if isinstance(w.message, PolygenWarning))
