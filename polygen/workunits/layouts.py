"""Layouts of views in memory, and what is said of accesses to them."""

from __future__ import annotations

from enum import Enum, Flag, auto


class Layout(Enum):
    """The order of a view in memory: its first, or its last subscript runs fastest."""

    LayoutLeft = "F"
    LayoutRight = "C"
    LayoutDefault = "default"


class Trait(Flag):
    """A statement about the accesses to a view.

    With ``Atomic``, each update of an element is atomic; the others are facts that polygen finds
    itself.
    """

    TraitDefault = 0
    Atomic = auto()
    RandomAccess = auto()
    Restrict = auto()
    Unmanaged = auto()


# The traits that views have had: most programs know no other than the first.
USED_TRAITS: set[Trait] = set()
