"""What stops a grammar's callbacks."""

from __future__ import annotations


class Refused(Exception):
    """What was read follows the grammar, but means nothing.

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
