"""Checks that a step is refused, and what the error says."""

from __future__ import annotations

from typing import Any

import pytest

from polygen.errors import UserError


def refused(kind: type[UserError], text: str, step: Any, *args: Any, **options: Any) -> None:
    """Check that a call is refused.

    Parameters:
        kind: the class of the error.
        text: a regular expression for what it says; a dot in it also means the end of a line.
        step: what is called.
        args: its arguments.
        options: its arguments by name.
    """
    with pytest.raises(kind, match="(?s)" + text):
        step(*args, **options)
