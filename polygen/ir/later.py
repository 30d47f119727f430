"""What is still to be said of a kernel that is made first, and ordered afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from polygen.ir.tags import InameTag

NOT_JUDGED, PRIORITY, TAG = "not judged yet", "priority", "tag"  # what lines begin with


@dataclass(frozen=True)
class Later:
    """What a kernel is to get yet, if it was made with ``well_formed="later"``.

    Attributes:
        open: why its result is not determined, with a counterexample; empty if it is.
        priorities: loop orders that name loops which a later step makes.
        tags: tags of inames that share an instruction with another one on the same axis, until a
            step takes one of them out of it.
        facts: of one that is open, the kernel with those of the steps since that state facts alone;
            None if no others were taken.  If that kernel is determined, the others have a result
            to keep.
    """

    open: str = ""
    priorities: tuple[tuple[str, ...], ...] = ()
    tags: tuple[tuple[str, InameTag], ...] = ()
    facts: Any = field(default=None, repr=False)

    def with_priority(self, names: tuple[str, ...]) -> Later:
        """Return this with one more loop order."""
        return replace(self, priorities=tuple(dict.fromkeys((*self.priorities, names))))

    def lines(self) -> list[str]:
        """Return what `print` says of it: a line for each thing."""
        return [
            *([f"{NOT_JUDGED}: {self.open}"] if self.open else []),
            *[f"{PRIORITY}: {', '.join(names)}" for names in self.priorities],
            *[f"{TAG}: {iname}: {tag}" for iname, tag in self.tags],
        ]
