"""Functions that the generated source defines for itself: those, and only those, that it calls.

Each is a template: ``$T`` is the type it is for, ``$U`` its unsigned counterpart, ``$S`` its
signed one, ``$W`` that of twice the size, ``$name`` the function's own name, and ``$fmod`` and the
like what the target calls those functions.
"""

from __future__ import annotations

from collections.abc import Iterable
from string import Template

import numpy as np

from polygen.analysis.typing.random_numbers import GENERATORS, Generator
from polygen.ir.dtype import DType, is_integer
from polygen.targets.expressions.complex_numbers import part_of
from polygen.targets.expressions.typed_terms import unsigned
from polygen.targets.languages.target import SHORT_NAMES, Target
from polygen.targets.texts.random_helpers import random_template

_MATH = """
    acos asin atan atan2 copysign cos cosh exp fabs floor fmod frexp hypot lgamma log modf pow
    remainder rint sin sinh sqrt tan""".split()  # noqa: SIM905
_PARTS = ("creal", "cimag")
_MACROS = ("isfinite", "isinf", "isnan")  # for all types
_PI = "3.14159265358979323846"
_BELOW_ONE = {"float32": "0x1.fffffep-1f", "float64": "0x1.fffffffffffffp-1"}

# The types that conversions mention, beside that which they are for.
_MENTIONED = {
    "to_half": ("float16",),
    **dict.fromkeys(("from_bfloat16", "to_bfloat16"), ("bfloat16", "uint32")),
}


def _template(target: Target, name: str, dtype: DType) -> str:
    if name in GENERATORS:
        return random_template(GENERATORS[name])
    general = f"{name} {dtype.kind}"
    return target.helpers.get(f"{general}{dtype.itemsize}") or target.helpers[general]


def types_of_helpers(target: Target, helpers: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Return the names of the types that the text of helper functions mentions."""
    found: set[str] = set()
    for name, type_name in helpers:
        dtype = np.dtype(type_name)
        template = _template(target, name, dtype)
        found.add(dtype.name)
        if "$U" in template:
            found.add(unsigned(dtype).name)
        if "$W" in template:
            found.add(_doubled(dtype).name)
        if "$D" in template:
            found.add("uint64")
        if "$S" in template:
            found.add(_signed(dtype).name)
        found.update(_MENTIONED.get(name, ()))
    return frozenset(found)


def helpers_need_math(target: Target, helpers: Iterable[tuple[str, str]]) -> bool:
    """Tell whether helper functions call mathematical functions of the target."""
    texts = [_template(target, name, np.dtype(type_name)) for name, type_name in helpers]
    return any(f"${name}(" in text for text in texts for name in (*_MATH, *_MACROS))


def helper_functions(target: Target, helpers: Iterable[tuple[str, str]]) -> list[str]:
    """Return the definitions of helper functions.

    Parameters:
        target: in whose language.
        helpers: pairs of a helper's name and the name of the type it is for.
    """
    return [_define(target, name, np.dtype(dtype)) for name, dtype in sorted(helpers)]


def _define(target: Target, name: str, dtype: DType) -> str:
    part = part_of(dtype) if dtype.kind == "c" else dtype
    values = {function: target.math_name(function, part) for function in (*_MATH, *_PARTS)}
    values |= {
        "T": target.type_name(dtype),
        "R": target.type_name(part),
        "make": target.complex_make.format(target.type_name(dtype)),
        "name": f"pg_{name}_{SHORT_NAMES[dtype.name]}",
        "bits": str(8 * dtype.itemsize),
        "pi": _PI,
        "prefix": target.helper_prefix,
        "below_one": _BELOW_ONE.get(dtype.name, ""),
        **{name: name for name in _MACROS},
    }
    if is_integer(dtype):
        values |= {
            "U": target.type_name(unsigned(dtype)),
            "S": target.type_name(_signed(dtype)),
        }
        if dtype.itemsize < 8:
            values["W"] = target.type_name(_doubled(dtype))
    if name in GENERATORS:
        values |= _of_vectors(target, GENERATORS[name])
    template = _template(target, name, dtype)
    text = Template(template).substitute(values)
    return text if "$prefix" in template else f"{target.helper_prefix} {text}"


def _of_vectors(target: Target, generator: Generator) -> dict[str, str]:
    """Return what the text of a generator needs beside the type of a word."""
    name = target.vector_names[generator.dtype.name, generator.count]
    begin, end = (part.format(name) for part in target.vector_literal)
    return {
        "R": target.type_name(generator.dtype),
        "D": target.type_name(np.dtype(np.uint64)),
        "V": name,
        "begin": begin,
        "end": end,
        "unsigned": target.literal_suffixes[generator.word.name],
    }


def _doubled(dtype: DType) -> DType:
    return np.dtype(f"{dtype.kind}{2 * dtype.itemsize}")


def _signed(dtype: DType) -> DType:
    return np.dtype(f"i{dtype.itemsize}")
