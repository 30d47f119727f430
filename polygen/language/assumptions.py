"""Reads assumptions about a kernel's parameters from text."""

from __future__ import annotations

import islpy as isl

from polygen.errors import InvalidArgument
from polygen.ir.domain import Domain
from polygen.language.isl_text import as_set, malformed, read_set
from polygen.source import caller_location


def parse_assumptions(assumptions: object) -> Domain:
    """Return what is known of the parameters, as a domain without inames.

    Parameters:
        assumptions: conditions such as ``"n >= 1 and n mod 4 = 0"``, a whole set such as
            ``"[n] -> { : n >= 1 }"``, an isl set without dimensions, or an empty text.

    Raises:
        MalformedDomain: if isl cannot read it, or if it can never hold.
    """
    if isinstance(assumptions, str):
        text = assumptions if "{" in assumptions else f"{{ : {assumptions} }}"
        isl_set = read_set(text)
    elif isinstance(assumptions, isl.BasicSet | isl.Set):
        text, isl_set = str(assumptions), as_set(assumptions)
    else:
        raise InvalidArgument(
            f"assumptions={assumptions!r} is no text",
            where=caller_location(),
            remedy='pass a text such as "n >= 1"',
        )
    if isl_set.dim(isl.dim_type.set):
        raise malformed("assumptions have no inames", text, 'write "n >= 1", without [...]')
    result = Domain(isl_set.drop_unused_params())
    if isl_set.is_empty():
        raise malformed("these assumptions contradict each other", text)
    return result
