"""Kernels as texts that are quickly read again: for the cache on disk.

``str`` of a kernel is for people, and `polygen.parse_kernel` reads and checks what they write; that
takes thirty times as long.
"""

from __future__ import annotations

from typing import Any

from pymbolic import primitives

from polygen.ir import (
    any_instruction,
    array,
    atomicity,
    choices,
    claims,
    expression,
    instruction,
    later,
    layout,
    library_call,
    operation,
    options,
    relation,
    sizes,
    substitution,
    tags,
)
from polygen.ir.domain import Domain, parse_domain
from polygen.ir.kernel import Kernel
from polygen.ir.value_texts import Leaf, NotText, ValueTexts, classes_in


def kernel_value_text(kernel: Kernel) -> str:
    """Return a kernel as text, with its choices, and without its history and places.

    Parameters:
        kernel: the kernel.

    Raises:
        NotText: if it holds a value that no text stands for.
    """
    return _TEXTS.text(kernel)


def kernel_of_value_text(text: str) -> Kernel:
    """Return the kernel whose text is `text`.

    Parameters:
        text: what `kernel_value_text` returned.

    Raises:
        NotText: if it is none of a kernel.
    """
    found = _TEXTS.value(text)
    if not isinstance(found, Kernel):
        raise NotText("this is no text of a kernel")
    return found


_MODULES = (
    primitives, any_instruction, array, atomicity, choices, claims, expression, instruction, later,
    layout, library_call, operation, options, relation, sizes, substitution, tags,
)  # fmt: skip


def _domain_parts(value: Any) -> list[Any] | None:
    return [value.text] if isinstance(value, Domain) else None


_TEXTS = ValueTexts((*classes_in(_MODULES), Kernel), (Leaf("domain", _domain_parts, parse_domain),))
