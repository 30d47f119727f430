"""Sites of a kernel at which Python would raise: each has a counter of its own in an array.

x[k[i]] = 1/n    ->    faults[0] += n == 0; faults[1] += k[i] is outside of x
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from polygen.python.nodes import FAULTS
from polygen.source import SourceLocation

_RAISED = "polygen_raised"


@dataclass(frozen=True)
class FaultSite:
    """A site at which a kernel may count an error.

    Attributes:
        line: the line of the statement of the compiled function, whatever functions it calls.
        kind: the place in `FAULTS`.
        where: the place in the user's text.
    """

    line: int
    kind: int
    where: SourceLocation | None


@dataclass(frozen=True)
class Raised:
    """An error of Python's that a kernel has counted.

    Attributes:
        site: where it is.
        results: returns what the call would have returned.
    """

    site: FaultSite
    results: Callable[[], Any]


def raise_first(
    counts: Sequence[Any], sites: Sequence[FaultSite], results: Callable[[], Any]
) -> None:
    """Raise what Python raises at the first site that was counted: by statement, then by kind.

    Parameters:
        counts: how often each site was counted.
        sites: the sites.
        results: returns what the call would have returned.
    """
    counted = [site for count, site in zip(counts, sites, strict=True) if count]
    first = min(counted, key=lambda site: (site.line, site.kind))
    kind, text = FAULTS[first.kind]
    error = kind(text)
    if first.where is not None and not first.where.file.startswith("<polygen"):
        lines = [f"  at {first.where}", *[f"  | {one}" for one in first.where.excerpt()]]
        error.add_note("\n".join(lines))
    vars(error)[_RAISED] = Raised(first, results)
    raise error


def raised(error: BaseException) -> Raised | None:
    """Return what a kernel has counted; None of any other error."""
    return vars(error).get(_RAISED)


def forget(error: BaseException) -> None:
    """Let an error no longer have what the call would have returned, and the arrays in it."""
    vars(error).pop(_RAISED, None)
