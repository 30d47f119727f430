"""Relations between the instances of two instructions, from text."""

from __future__ import annotations

import re

import islpy as isl

from polygen.errors import MalformedDomain, MalformedRelation
from polygen.ir.domain import Domain
from polygen.ir.relation import MARK, InstanceRelation
from polygen.language.isl_text import read_set
from polygen.source import caller_location

_SET = isl.dim_type.set


def parse_relation(first: str, text: str) -> InstanceRelation:
    """Return the relation that a text such as ``"{ [i] -> [i'] : i' = i + 1 }"`` says.

    Parameters:
        first: the id of the instruction whose instances come first.
        text: in isl's notation for maps; inames of the second instance have a ``'``.

    Raises:
        MalformedRelation: if it is not in that notation.
    """
    marked = re.sub(r"(\w)'", rf"\1{MARK}", text)
    joined, arrows = re.subn(r"\]\s*->\s*\[", ", ", marked)
    joined = re.sub(r"\[\s*,", "[", re.sub(r",\s*\]", "]", joined))
    try:
        isl_set = read_set(joined)
    except MalformedDomain as error:
        raise _malformed(first, text, error.what.replace(MARK, "'")) from None
    names = [isl_set.get_dim_name(_SET, n) or "" for n in range(isl_set.dim(_SET))]
    later = [name.endswith(MARK) for name in names]
    if not arrows or later != sorted(later):
        raise _malformed(first, text, "the second instance's inames are those with a '")
    return InstanceRelation(first, Domain(isl_set.drop_unused_params()))


def _malformed(first: str, text: str, why: str) -> MalformedRelation:
    return MalformedRelation(
        f"the dependency on instances of '{first}' is no relation: {why}",
        where=caller_location(),
        excerpt=text,
        remedy="write all inames of both instructions, as in dep=a[{ [i] -> [i'] : i' = i + 1 }]",
    )
