"""Numbers that cannot be given."""

from __future__ import annotations

from polygen.errors.families import UserError


class NotCountable(UserError):
    """Something whose number does not follow from the sizes: data decides, or there is no end."""
