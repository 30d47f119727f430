"""Maps between inames, from text or from isl's objects."""

from __future__ import annotations

import re

import islpy as isl

from polygen.errors import MalformedMap, UnknownName, did_you_mean
from polygen.ir.kernel import Kernel
from polygen.ir.names import check_name
from polygen.language.isl_text import KEYWORDS, check_characters
from polygen.source import caller_location

_IN, _OUT, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.param
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # isl strips primes: i' is another i
_HEAD = re.compile(r"\s*\[[^\]]*\]\s*->\s*(?=\{)")
_TUPLE = re.compile(r"\[([^\]]*)\]")
_LEADING = re.compile(r"(?:^|,)\s*([A-Za-z_][A-Za-z0-9_]*)")
_BOUND = re.compile(r"\bexists\b\s*\(?([^:]*):")

_EXAMPLE = 'a map looks like "{ [i, j] -> [p, q] : p = i + j and q = j }"'


def read_map(kernel: Kernel, given: str | isl.BasicMap | isl.Map) -> isl.Map:
    """Return a map from inames of a kernel to others, all of which have names.

    Parameters:
        kernel: says which parameters there are.
        given: a text in isl's notation, or an isl map.  An output without a name has that of the
            input that it always equals.

    Raises:
        MalformedMap: if it is not in isl's notation, or if something has no name.
        UnknownName: if it mentions what is no scalar argument.
        UnknownIname: if an input is no iname.
    """
    found = (
        _parsed(kernel, given)
        if isinstance(given, str)
        else given.to_map()
        if isinstance(given, isl.BasicMap)
        else given
    )
    text = str(given).strip()
    for kind in (_IN, _OUT):
        if found.has_tuple_name(kind):
            raise _malformed(f"'{found.get_tuple_name(kind)}[...]' has a name", text, _EXAMPLE)
    for position in range(found.dim(_PARAM)):
        _check_parameter(kernel, found.get_dim_name(_PARAM, position) or "", text)
    named = _with_names(found, text)
    for name in dim_names(named, _IN):
        kernel.check_iname(name)
    return named


def dim_names(isl_map: isl.Map, kind: isl.dim_type) -> tuple[str, ...]:
    """Return the names of the inputs or the outputs of a map."""
    return tuple([isl_map.get_dim_name(kind, p) or "" for p in range(isl_map.dim(kind))])


def _parsed(kernel: Kernel, text: str) -> isl.Map:
    check_characters(text)
    words = set(_WORD.findall(text))
    if not _HEAD.match(text):
        known = {*KEYWORDS, *kernel.parameters}
        for pattern in (_TUPLE, _BOUND):
            for match in pattern.finditer(text):
                known.update(_LEADING.findall(match[1]))
        for name in sorted(words - known):
            _check_parameter(kernel, name, text)
        text = f"[{', '.join(p for p in kernel.parameters if p in words)}] -> {text}"
    try:
        return isl.Map(text)
    except isl.Error:
        raise _malformed("isl cannot read this map", text, _EXAMPLE) from None


def _check_parameter(kernel: Kernel, name: str, text: str) -> None:
    if name in kernel.parameters:
        return
    what = "an iname, and no input of it" if name in kernel.inames else "no scalar argument"
    raise UnknownName(
        f"this map mentions '{name}', which is {what}",
        where=caller_location(),
        excerpt=text.strip(),
        remedy="make it an input and an output, as 't' in { [t, i] -> [t, r] : r = i + t }"
        if name in kernel.inames
        else did_you_mean(name, kernel.parameters),
    )


def _with_names(found: isl.Map, text: str) -> isl.Map:
    """Return the map with a name for each output, and check all names."""
    inputs = dim_names(found, _IN)
    if "" in inputs or len(set(inputs)) < len(inputs):
        raise _malformed("its inputs are not inames, each once", text, _EXAMPLE)
    for position, name in enumerate(dim_names(found, _OUT)):
        if not name:
            equal = [n for p, n in enumerate(inputs) if _always_equals(found, position, p)]
            if not equal:
                raise _malformed(
                    f"output {position + 1} of this map has no name",
                    text,
                    "name it, as 'r' in { [i] -> [r] : r = n - 1 - i }",
                )
            found = found.set_dim_name(_OUT, position, equal[0])
    outputs = dim_names(found, _OUT)
    for name in outputs:
        check_name(name)
    if len(set(outputs)) < len(outputs):
        raise _malformed("two of its outputs have one name", text, "give each its own")
    return found


def _always_equals(found: isl.Map, output: int, position: int) -> bool:
    return bool(found.is_subset(found.equate(_IN, position, _OUT, output)))


def _malformed(what: str, text: str, remedy: str) -> MalformedMap:
    return MalformedMap(what, where=caller_location(), excerpt=text, remedy=remedy)
