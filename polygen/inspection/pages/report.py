"""`polygen.report`: all that there is to see of a kernel, on one page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import SupportsIndex

from polygen.errors import InvalidArgument
from polygen.inspection.counts.trips import Trips
from polygen.inspection.devices.limits import Limits
from polygen.inspection.pages.elements import Html, code, element, joined
from polygen.inspection.pages.highlight import highlighted
from polygen.inspection.pages.number_parts import numbers
from polygen.inspection.pages.parts import Budget, Part, headline, parts, shown, warnings_noted
from polygen.inspection.pages.picture_parts import pictures
from polygen.inspection.pages.proof_parts import proofs
from polygen.inspection.pages.script import kernel_to_python
from polygen.inspection.pages.style import PAGE_STYLE, STYLE
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.language.programs import TranslationUnit
from polygen.source import caller_location


@public
def report(
    kernel: Kernel | TranslationUnit,
    path: str | PathLike[str],
    *,
    sizes: Mapping[str, SupportsIndex] | None = None,
    limits: Limits | None = None,
    measured: float | None = None,
    drawn_at: Mapping[str, SupportsIndex] | None = None,
    trips: Trips | None = None,
) -> Path:
    """Write all that there is to see of a kernel as one page of HTML, and return its path.

    On it are the kernel's text, the graph of its instructions with their dependences, what each
    step of its history changed, its source for each target, the loops before they become text, what
    is proved of it and what its data has to fulfil, which loops may be parallel, how many
    operations, accesses and barriers there are, and a script that makes it.  What cannot be had is
    not left out: the page says why.

    The page needs neither a network nor scripts; it follows the reader's choice of light or dark.

    Parameters:
        kernel: a kernel, or a program: then each of its kernels is on the page.
        path: the file that is written.
        sizes: numbers are given for these, too; by name.
        limits: what a device can do: the page has a roofline, for the sizes.
        measured: how long the kernel took, in seconds, to compare with the roofline.
        drawn_at: small sizes, for which the domains are drawn: see `plot_domain`.
        trips: how many iterations loops have that a condition ends, for the numbers: see
            `get_op_map`.

    Raises:
        InvalidArgument: if there are limits without sizes, or a time without limits.

    >>> import polygen as pg, tempfile
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name="twice")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pg.report(knl, f"{folder}/report.html").name
    'report.html'
    """
    if limits is not None and sizes is None:
        raise _lacking("limits", "sizes, which a roofline is for")
    if measured is not None and limits is None:
        raise _lacking("measured", "limits to compare with")
    at = {name: value.__index__() for name, value in (sizes or {}).items()}
    small = {name: value.__index__() for name, value in (drawn_at or {}).items()}
    with warnings_noted() as noted:
        kernels = [kernel] if isinstance(kernel, Kernel) else list(reversed(kernel.kernels))
        bodies = [
            _Sections(
                k, number, [*_parts(k, at, limits, measured, trips), *_pictures(k, small)]
            ).body()
            for number, k in enumerate(kernels)
        ]
    notes = [element("p", text, class_="note") for text in noted]
    file = Path(path)
    file.write_text(_page(kernels[0].name, joined((*notes, *bodies))), encoding="utf-8")
    return file


def _lacking(given: str, needed: str) -> InvalidArgument:
    return InvalidArgument(
        f"report was given {given}, but no {needed}",
        where=caller_location(),
        remedy='for example report(kernel, "report.html", sizes={"n": 10**6}, '
        'limits=pg.Limits.named("H100"), measured=1e-3)',
    )


def _parts(
    kernel: Kernel,
    sizes: dict[str, int],
    limits: Limits | None,
    measured: float | None,
    trips: Trips | None,
) -> Iterator[Part]:
    yield from parts(kernel)
    yield from proofs(kernel)
    yield from numbers(kernel, sizes, limits, measured, trips)
    yield Part("Script", lambda: code(highlighted(kernel_to_python(kernel), {})))


def _pictures(kernel: Kernel, sizes: Mapping[str, int]) -> Iterator[Part]:
    if sizes:
        yield Part("Pictures of domains", lambda: pictures(kernel, sizes), is_open=True)


class _Sections:
    """The parts of one kernel, each a section that can be linked to."""

    def __init__(self, kernel: Kernel, number: int, found: list[Part]) -> None:
        self.kernel = kernel
        self._parts = [
            (f"k{number}-{re.sub(r'[^a-z0-9]+', '-', part.title.lower())}-{position}", part)
            for position, part in enumerate(found)
        ]

    def links(self) -> Html:
        """Return the links to all sections."""
        return joined(element("a", part.title, href=f"#{name}") for name, part in self._parts)

    def body(self) -> Html:
        """Return the heading and the sections."""
        head = [
            element("h1", self.kernel.name),
            element("p", headline(self.kernel), class_="facts"),
            element("nav", self.links(), aria_label=f"Sections of kernel {self.kernel.name}"),
        ]
        budget = Budget(None)
        sections = [
            element("section", shown(part, budget, "h2", name)) for name, part in self._parts
        ]
        return joined((*head, *sections))


def _page(title: str, body: Html) -> str:
    head = joined(
        (
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("title", f"{title} - polygen"),
            # No text to escape: it holds nothing of the user's.
            Html(f"<style>{STYLE}{PAGE_STYLE}</style>"),
        )
    )
    main = element("main", body, class_="polygen")
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{main}</body></html>\n'
