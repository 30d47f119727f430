"""The decorator `@transformation`: checked arguments, a checked result, and a history.

polygen's own transformations are in `polygen.transforms`.  Each is a function from a kernel and
arguments to a kernel, under this decorator.  Its annotations say what its arguments are: the kinds
of arguments (`Iname`, `NewName`, `PositiveInt`) are here, for transformations of users as well.
`step` has the decorator, and `results` what a step means for the rest of its kernel.
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
