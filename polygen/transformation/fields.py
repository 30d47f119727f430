"""Checks the fields of a kernel that a user's function returns."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast, get_args

from polygen.errors import MalformedKernel
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import Domain
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.options import TARGET_NAMES, Options
from polygen.ir.substitution import SubstitutionRule
from polygen.ir.tags import InameTag
from polygen.source import caller_location


def _several(*kinds: type) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        return isinstance(value, tuple) and all(
            isinstance(part, kinds) for part in cast("tuple[object, ...]", value)
        )

    return fits


def _are_tags(value: Any) -> bool:
    kinds = get_args(InameTag)
    return isinstance(value, Mapping) and all(
        isinstance(tag, kinds) for tag in cast("Mapping[str, object]", value).values()
    )


def _are_priorities(value: Any) -> bool:
    return _several(tuple)(value) and all(isinstance(i, str) for p in value for i in p)


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "name": (lambda value: isinstance(value, str) and value.isidentifier(), "an identifier"),
    "domains": (_several(Domain), "a tuple of Domain objects"),
    "instructions": (_several(Instruction), "a tuple of instructions"),
    "arguments": (_several(GlobalArg, ValueArg), "a tuple of arguments"),
    "temporaries": (_several(TemporaryVariable), "a tuple of TemporaryVariable objects"),
    "substitutions": (_several(SubstitutionRule), "a tuple of SubstitutionRule objects"),
    "tags": (_are_tags, "a dictionary of tags, which tag_inames makes of texts"),
    "priorities": (_are_priorities, "a tuple of tuples of inames"),
    "assumptions": (lambda value: isinstance(value, Domain), "a Domain without inames"),
    "target": (
        lambda value: value is None or value in TARGET_NAMES,
        ", ".join(map(repr, TARGET_NAMES)) + " or None",
    ),
    "options": (lambda value: isinstance(value, Options), "Options, which set_options makes"),
}


def check_fields(step: str, kernel: Kernel) -> None:
    """Check that the fields of a kernel are of their types, and that its inames are there.

    Raises:
        MalformedKernel: if they are not.
    """
    for name, (fits, what) in _FIELDS.items():
        value = getattr(kernel, name)
        if not fits(value):
            raise _wrong(step, f"whose {name} are {reprlib.repr(value)}", f"{name} are {what}")
    for name, inames in (("tags", kernel.tags), ("priorities", _together(kernel.priorities))):
        for iname in inames:
            if iname not in kernel.home_domains:
                raise _wrong(
                    step,
                    f"whose {name} are about '{iname}', which is no iname of it",
                    f"leave it out: copy(domains=..., {name}=...)",
                )
    for insn in kernel.instructions:
        for node in (*insn.assignees, *insn.reads):
            if not isinstance(node, ex.ExpressionNode | int | float | complex):
                raise _wrong(
                    step,
                    f"in whose instruction '{insn.id}' is {node!r}, which is no expression",
                    "make expressions of those of other instructions, and of polygen.ir.expression",
                )


def check_claims_stay(step: str, before: Kernel, kernel: Kernel) -> None:
    """Check that what the user vouched for is still noted.

    Facts about what is gone, or has another name, are none any more.

    Raises:
        MalformedKernel: if something is left out.
    """
    known = {*kernel.variables, *kernel.instructions_by_id}
    for claim in before.claims:
        about = () if isinstance(claim, str) else vars(claim).values()
        if claim not in kernel.claims and known.issuperset(about):
            raise _wrong(
                step,
                f"without the claim {claim}",
                "leave claims as they are: a step that was taken without proof is noted for good",
            )


def _together(sequences: Iterable[Iterable[str]]) -> list[str]:
    return [iname for sequence in sequences for iname in sequence]


def _wrong(step: str, what: str, remedy: str) -> MalformedKernel:
    return MalformedKernel(
        f"{step} returned a kernel {what}", where=caller_location(), remedy=remedy
    )
