"""Helper functions of vectors: of whole ones, and such that call one for each component.

The former are templates.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

import numpy as np

from polygen.ir.dtype import DType
from polygen.targets.expressions.name_facts import VectorHelper
from polygen.targets.languages.target import INT32, INT64, SHORT_NAMES, Target
from polygen.targets.texts.named_texts import texts_of

_KEPT = {"min": "<=", "max": ">="}

_TEXTS = texts_of("vectors.h")


def is_whole(name: str) -> bool:
    """Tell whether there is a helper of whole vectors of this name."""
    return name == "select" or name in _KEPT


def truth_type(dtype: DType) -> DType:
    """Return the type of the components that comparisons of vectors of a type give."""
    return INT64 if dtype.itemsize == 8 else INT32


def helper_name(helper: VectorHelper) -> str:
    """Return what a helper is called."""
    return f"pg_{helper.name}_{SHORT_NAMES[helper.dtype]}_vec{helper.count}"


def vector_helpers(target: Target, helpers: Iterable[VectorHelper]) -> list[str]:
    """Return the definitions of helper functions of vectors."""
    return [f"{target.helper_prefix} {_text(target, h)}" for h in sorted(helpers)]


def _text(target: Target, helper: VectorHelper) -> str:
    def vector(name: str) -> str:
        return target.array_vector.format(target.type_name(np.dtype(name)), name, helper.count)

    if not helper.function:
        dtype, whole = np.dtype(helper.dtype), vector(helper.dtype)
        mask = vector(truth_type(dtype).name)
        values = {"T": whole, "M": mask, "name": helper_name(helper)}
        values["chosen"] = target.select_lanes.format("chosen", "a", "b", whole, mask)
        if helper.name in _KEPT:
            kept = f"a {_KEPT[helper.name]} b"
            # One that is no number stays.
            values["condition"] = f"({kept}) | (a != a)" if dtype.kind == "f" else kept
        return Template(_TEXTS[helper.name]).substitute(values)
    names = "abc"[: len(helper.operands)]
    parameters = [f"{vector(t)} {n}" for t, n in zip(helper.operands, names, strict=True)]

    def call(lane: int | str) -> str:
        operands = (target.array_component.format(name, lane) for name in names)
        return f"{helper.function}({', '.join(operands)})"

    result = vector(helper.result)
    head = f"{result} {helper_name(helper)}({', '.join(parameters)})"
    if target.each_lane:
        body = target.each_lane.strip("\n").format(result, helper.count, call("i"))
    else:
        literal = target.lanes.format(result, ", ".join(map(call, range(helper.count))))
        body = f"    return {literal};"
    return f"{head}\n{{\n{body}\n}}"
