"""Empty collections that have a type.

``frozenset[str]()`` makes an object that stands for the class first: that takes ten to twenty times
as long as ``frozenset()``.
"""

from __future__ import annotations

from typing import Any

NO_NAMES: frozenset[str] = frozenset()


def new_dict() -> dict[Any, Any]:
    """Return an empty dictionary: the default of a field."""
    return {}


def new_set() -> set[Any]:
    """Return an empty set: the default of a field."""
    return set()
