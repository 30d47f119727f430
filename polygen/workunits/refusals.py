"""Errors of the front end, as those of work units and policies."""

from __future__ import annotations

import re

from polygen.errors import (
    NotCompiled,
    PolygenError,
    PragmaRefused,
    RaceFound,
    WorkUnitRefused,
)

_AGAINST_RACES = (
    "let each iteration write elements of its own, add up in an accumulator, or update by "
    "atomic_add; unsafe=True runs one iteration after the other"
)
_AGAINST_PYTHON = "the space Debug runs it as Python"


def in_words(text: str) -> str:
    """Return a message with what users know of in the place of parameters that a dispatch adds.

    Parameters:
        text: the message.

    >>> in_words("for x.shape[0]=4, pk_end0=2, iteration i=0")
    "for x.shape[0]=4, the policy's end=2, iteration i=0"
    """
    many = "pk_end1" in text
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    return text if many else text.replace("the policy's end[0]", "the policy's end").replace(
        "the policy's begin[0]", "the policy's begin"
    )  # fmt: skip


# A dispatch has names of its own for its bounds, and for the parts of arrays that arguments are.
_WORDS = (
    (r"\bpk_(begin|end)(\d)_*\b", r"the policy's \1[\2]"),
    (r"\bpk_league_size_*\b", "the league size"),
    (r"\bpk_(league_rank|team_rank)_*\b", r"\1"),
    (r"\bpk_base\d+\b", "the array of which arguments are parts"),
    (r"\bpk_(\w+)_(\d)_end\b", r"the end of '\1' along axis \2"),
    (r"\bpk_(\w+)_(\d)\b", r"the beginning of '\1' along axis \2"),
)


def as_users_know(error: PolygenError, unit: str) -> PolygenError:
    """Return an error in terms of work units and policies.

    Parameters:
        error: what the front end raised.
        unit: the name of the work unit.
    """
    if isinstance(error, PragmaRefused):
        return RaceFound(in_words(error.what), where=error.where, remedy=_AGAINST_RACES)
    if isinstance(error, NotCompiled):
        remedy = error.remedy if "strict" not in (error.remedy or "") else _AGAINST_PYTHON
        what = f"{in_words(error.why)}, in the work unit '{unit}'"
        if "which nothing has written before" in error.why and "pk_team_rank" in error.why:
            remedy = "put a barrier between what threads write and what others read of it"
        return WorkUnitRefused(what, where=error.where, remedy=remedy)
    return error
