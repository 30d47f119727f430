"""Transformations: functions with checked arguments, a checked result, and a history.

A transformation is a function from a kernel (and arguments) to a kernel, under `transformation`.
Its annotations say what its arguments are; polygen's own are here, for use in transformations of
one's own as well.
"""

from __future__ import annotations

from polygen.transformation.argument_kinds import (
    Iname,
    Inames,
    InsnId,
    Kind,
    Name,
    Names,
    NewName,
    PositiveInt,
    Tag,
    Within,
    are_inames,
    are_texts,
    is_iname,
    is_instruction,
    is_name,
    is_new_name,
    is_one_of,
    is_positive,
    is_tag,
    to_functions,
    to_id,
    to_names,
    to_tag,
)
from polygen.transformation.step import Transformation, transformation

__all__ = [
    "Iname",
    "Inames",
    "InsnId",
    "Kind",
    "Name",
    "Names",
    "NewName",
    "PositiveInt",
    "Tag",
    "Transformation",
    "Within",
    "are_inames",
    "are_texts",
    "is_iname",
    "is_instruction",
    "is_name",
    "is_new_name",
    "is_one_of",
    "is_positive",
    "is_tag",
    "to_functions",
    "to_id",
    "to_names",
    "to_tag",
    "transformation",
]
