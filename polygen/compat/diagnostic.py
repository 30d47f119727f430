"""Loo.py's families of errors and warnings, which are polygen's; single errors are other ones."""

from polygen.errors import PolygenError as LoopyError
from polygen.errors import PolygenWarning as LoopyWarning
from polygen.errors import UserError

__all__ = ["AutomaticTestFailure", "DirectCallUncachedWarning", "LoopyError", "LoopyWarning"]


class AutomaticTestFailure(UserError):
    """What two kernels computed is not the same: `auto_test_vs_ref`."""


class DirectCallUncachedWarning(LoopyWarning):
    """Never issued here: calls of kernels keep what was compiled."""
