"""Numbers as tables show them."""

from __future__ import annotations


def shown_time(seconds: float | None) -> str:
    """Return a time with its unit; a question mark if it is not known."""
    if seconds is None:
        return "?"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
