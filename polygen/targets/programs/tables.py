"""Tables of constants: what is declared with its elements."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from polygen.errors import InternalError
from polygen.ir.array import TemporaryVariable
from polygen.targets.languages.target import Target
from polygen.targets.statements.expression_printer import ExpressionPrinter

_WIDTH = 90


def table_lines(
    table: TemporaryVariable, target: Target, expressions: ExpressionPrinter
) -> list[str]:
    """Return the lines that declare a table, in a function."""
    elements = table.initializer
    if elements is None:
        raise InternalError(f"the table '{table.name}' has no elements")
    texts = [_element(value, target, expressions) for value in elements.ravel()]
    head = f"{target.table_qualifier}{expressions.variable_type(elements.dtype)} {table.name}"
    if not elements.shape:
        return [f"{head} = {texts[0]};"]
    head += f"[{elements.size}] = "
    listed = ", ".join(texts)
    if len(head) + len(listed) <= _WIDTH:
        return [f"{head}{{{listed}}};"]
    inside = textwrap.wrap(listed, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return [f"{head}{{", *(f"    {line}" for line in inside), "};"]


def _element(value: Any, target: Target, expressions: ExpressionPrinter) -> str:
    dtype: np.dtype[Any] = value.dtype
    if dtype.kind != "c":
        text = expressions.value(value.item(), dtype)  # which may ask for a header
        if np.isinf(value) and target.table_infinity:
            return f"-({target.table_infinity})" if value < 0 else target.table_infinity
        return target.table_nan if np.isnan(value) else text
    expressions.type_name(dtype)
    parts = (_element(part, target, expressions) for part in (value.real, value.imag))
    return target.complex_elements[dtype.name].format(*parts)
