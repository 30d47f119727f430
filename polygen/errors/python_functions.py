"""Functions of Python that cannot be compiled as they are asked to be."""

from __future__ import annotations

from polygen.errors.families import UserError


class NoSource(UserError):
    """A function of Python whose source cannot be had."""


class NotCompiled(UserError):
    """A statement that is not in the language of compiled functions, where it has to be.

    Attributes:
        why: what it is, without the function; empty if that is not known.
    """

    why: str = ""


class ResultsDiffer(UserError):
    """A compiled function that computes something else than Python does."""


class MalformedPragma(UserError):
    """A comment that begins as a pragma does, and is none."""


class UnknownClause(MalformedPragma):
    """A word in a pragma that means nothing there."""


class MisplacedPragma(UserError):
    """A pragma that is not before a statement that it can be about."""


class MalformedFormat(UserError):
    """A format of `printf` that is none, or does not go with the values."""


class PragmaRefused(UserError):
    """A pragma that claims what is not true: two instances depend on each other."""
