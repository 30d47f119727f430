"""Explains where and why a text is not a set in isl's notation."""

# ruff: noqa: D102  (each method is named like the rule of domain.lark that it is for)

from __future__ import annotations

import re
from typing import Any, TypeAlias

import lark

from polygen.errors import MalformedDomain, NonAffineDomain, UserError
from polygen.language.grammars import parser
from polygen.language.parser import explained, located
from polygen.language.refused import Refused

_Children: TypeAlias = list[Any]


class _NotAffine(Refused):
    """A product of variables."""


class Constants:
    """For each expression, whether it is a constant: only those may be factors and divisors."""

    def number(self, _children: _Children) -> bool:
        return True

    def name(self, _children: _Children) -> bool:
        return False

    def grouped(self, children: _Children) -> bool:
        return bool(children[0])

    def scaled(self, children: _Children) -> bool:
        return bool(children[1])

    def function(self, children: _Children) -> bool:
        return all(children)

    def expression(self, children: _Children) -> bool:
        return all(children)

    def term(self, children: _Children) -> bool:
        constant = bool(children[0])
        operator: Any
        for operator, factor in zip(children[1::2], children[2::2], strict=True):
            times = bool(operator == "*")
            if not factor and not (times and constant):
                raise _NotAffine(
                    f"'{operator}' with a variable on {'both sides' if times else 'its right'} "
                    "is not affine",
                    operator.start_pos,
                    "one factor, and every divisor, has to be a number; compute other bounds "
                    "into temporaries and use those",
                )
            constant = constant and bool(factor)
        return constant


# What else stands at the place of an error, and what to do about it.
_HINTS = (
    (r"=", "isl writes an equality as '='"),
    (r"in\b", "write '0 <= i < n' for 'i in range(n)'"),
    (r"(?<![\s\S])[^{\[]", "write inames and braces, too: { [i]: 0 <= i < n }"),
    (r"[A-Za-z_]\w*\s*:", "inames stand in brackets: { [i]: 0 <= i < n }"),
    (r"[A-Za-z_]\w*\s*\[", "a loop domain has no name: leave it out"),
    (r"->", "a loop domain is a set: { [i, j]: ... }"),
    (r";", "for several domains, pass a list of texts"),
    (
        r"(?<=\w)\[",
        "compute it into a temporary, as in '<> end = row[i + 1]', and use that as a bound",
    ),
    (r"\.", "a loop domain has integers only"),
)


def _hint(text: str, position: int) -> str | None:
    for here, remedy in _HINTS:
        if re.compile(r"\s*" + here).match(text, position):
            return remedy
    return None


def explain_domain(text: str) -> UserError:
    """Return the error for a text that isl cannot read as a loop domain."""
    try:
        parser("domains").parse(text, start="start")
    except _NotAffine as error:
        return located(NonAffineDomain, error.what, text, error.position, error.remedy)
    except lark.UnexpectedInput as error:
        return explained(MalformedDomain, error, text, _hint)
    return located(
        MalformedDomain,
        "isl cannot read this domain",
        text,
        0,
        "write it like { [i, j]: 0 <= i < n and 0 <= j < i }",
    )
