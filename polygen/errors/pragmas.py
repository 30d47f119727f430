"""Pragmas: comments that say how a function of Python is meant to run."""

from __future__ import annotations

from polygen.errors.families import UserError


class MalformedPragma(UserError):
    """A comment that begins as a pragma does, and is none."""


class UnknownClause(MalformedPragma):
    """A word in a pragma that means nothing there."""


class MisplacedPragma(UserError):
    """A pragma that is not before a statement that it can be about."""


class PragmaRefused(UserError):
    """A pragma that claims what is not true: two instances depend on each other."""
