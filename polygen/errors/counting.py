"""Numbers that cannot be given."""

from __future__ import annotations

from polygen.errors.families import UserError


class UnknownCount(UserError, KeyError):
    """A map of counts has no such key: nothing of that kind is counted in the kernel."""


class NotCountable(UserError):
    """Something whose number does not follow from the sizes: data decides, or there is no end."""
