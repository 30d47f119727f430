"""Stops a grammar's callbacks with an error of polygen's."""

from __future__ import annotations


class Refused(Exception):
    """The text follows the grammar, but means nothing.

    Parameters:
        what: why.
        position: where in the text.
        remedy: what would work.
    """

    def __init__(self, what: str, position: int, remedy: str) -> None:
        super().__init__(what)
        self.what = what
        self.position = position
        self.remedy = remedy
