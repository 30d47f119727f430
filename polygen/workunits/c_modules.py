"""Functions of C that take views: compiled, loaded, and called with checked arguments.

PK_FUNCTION double dot(PK_VIEW1(double) x, PK_VIEW1(double) y)
{
    double sum = 0;
    for (int64_t i = 0; i < x.extent[0]; i++)
        sum += PK_AT1(double, x, i) * PK_AT1(double, y, i);
    return sum;
}
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from polygen.errors import InvalidArgument, UnsupportedSpace, ViewMismatch
from polygen.runtime.backends.c.c_compiler import load_library
from polygen.source import caller_location
from polygen.workunits.spaces import ExecutionSpace, supported, target_of
from polygen.workunits.views import View

_RANKS = range(1, 9)
_HEADER = "\n".join(
    [
        "#include <stdint.h>",
        "#include <stdbool.h>",
        '#define PK_FUNCTION __attribute__((visibility("default")))',
        "/* Strides are counted in elements. */",
        "typedef struct { void *data; int64_t extent[8]; int64_t stride[8]; } pk_view;",
        *[f"#define PK_VIEW{rank}(type) pk_view" for rank in _RANKS],
        *[
            f"#define PK_AT{rank}(type, view, {', '.join(f'i{k}' for k in range(rank))}) "
            "(((type *)(view).data)["
            + " + ".join(f"(i{k})*(view).stride[{k}]" for k in range(rank))
            + "])"
            for rank in _RANKS
        ],
        '#line 1 "source"',
        "",
    ]
)
_DECLARED = re.compile(r"\bPK_FUNCTION\s+(\w+)\s+(\w+)\s*\(((?:[^()]|\([^()]*\))*)\)")
_VIEW = re.compile(r"(?:const\s+)?PK_VIEW([1-8])\s*\(\s*(\w+)\s*\)\s*(\w+)")
_NUMBER = re.compile(r"(?:const\s+)?(\w+)\s+(\w+)")
_TYPES: Mapping[str, Any] = {
    "double": ctypes.c_double, "float": ctypes.c_float, "bool": ctypes.c_bool,
    "int": ctypes.c_int, "int8_t": ctypes.c_int8, "int16_t": ctypes.c_int16,
    "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint8_t": ctypes.c_uint8,
    "uint16_t": ctypes.c_uint16, "uint32_t": ctypes.c_uint32, "uint64_t": ctypes.c_uint64,
}  # fmt: skip
_KOKKOS = re.compile(r"\bKokkos(::|_\w+\.hpp)|\bKOKKOS_\w+|\btemplate\s*<|#include\s*<pybind11")


class _CView(ctypes.Structure):
    _fields_: ClassVar[Any] = [  # pyright: ignore[reportIncompatibleVariableOverride]
        ("data", ctypes.c_void_p),
        ("extent", ctypes.c_int64 * 8),
        ("stride", ctypes.c_int64 * 8),
    ]


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a C function: a view with a number of subscripts, or a number, which has 0."""

    name: str
    kind: str
    rank: int

    def passed(self, value: Any) -> Any:
        """Return an argument as C takes it.

        Raises:
            ViewMismatch: if it is no such view, or no number.
        """
        if not self.rank:
            try:
                made = _TYPES[self.kind](value)
            except TypeError:
                raise self._mismatch(f"is a {type(value).__name__}") from None
            if "int" in self.kind and made.value != value:
                raise self._mismatch(f"is {value}")
            return made
        array: Any = value.array if isinstance(value, View) else value
        if type(array) is not np.ndarray:
            raise self._mismatch(f"is a {type(value).__name__}")
        if array.ndim != self.rank or array.dtype != np.dtype(_TYPES[self.kind]):
            raise self._mismatch(f"has {array.ndim} subscripts and the type {array.dtype}")
        if not array.flags.writeable or not array.flags.aligned:
            raise self._mismatch("may not be written, or is not aligned")
        steps = [step // array.itemsize for step in array.strides]
        rest = [0] * (8 - self.rank)
        places = ctypes.c_int64 * 8
        return _CView(array.ctypes.data, places(*array.shape, *rest), places(*steps, *rest))

    def _mismatch(self, found: str) -> ViewMismatch:
        what = f"a view of {self.kind} with {self.rank} subscripts" if self.rank else self.kind
        return ViewMismatch(
            f"'{self.name}' is declared as {what}, and {found}",
            where=caller_location(),
            remedy="pass what the C source declares",
        )


def compile_into_module(
    path: str | Path | None,
    source: str | None = None,
    name: str = "module",
    space: ExecutionSpace = ExecutionSpace.Default,
) -> SimpleNamespace:
    """Return the functions of a C source that are marked by PK_FUNCTION, compiled.

    Views are declared by ``PK_VIEW1(double) x`` to ``PK_VIEW8``; their elements are
    ``PK_AT2(double, x, i, j)``, their extents ``x.extent[0]``.  Numbers and what is returned have
    C's types: ``double``, ``float``, ``bool``, ``int``, ``int8_t`` to ``uint64_t``.

    Parameters:
        path: the file with the source; not looked at if the source is given.
        source: the source.
        name: the module's, for messages.
        space: a space of the processor.

    Returns:
        An object whose attributes are the functions, which take arguments by position.

    Raises:
        UnsupportedSpace: for a space that is no processor's.
        InvalidArgument: if there is no function, a type that is not known, or Kokkos' C++.
        CompilationFailed: if the compiler refuses the source.
        ViewMismatch: in a call, for an argument that is not what the source declares.

    >>> import polygen.workunits as pk
    >>> module = pk.compile_into_module(None, '''
    ... PK_FUNCTION void fill(PK_VIEW1(double) x, double value)
    ... {
    ...     for (int64_t i = 0; i < x.extent[0]; i++) PK_AT1(double, x, i) = value;
    ... }''')
    >>> x = pk.View([3], pk.double)
    >>> module.fill(x, 2.5)
    >>> print(x)
    [2.5 2.5 2.5]
    """
    chosen = supported(space)
    if chosen is not ExecutionSpace.Debug and target_of(chosen) != "c":
        raise UnsupportedSpace(
            f"the C source '{name}' is asked for in the space {chosen.value}",
            where=caller_location(),
            remedy="pass OpenMP; what runs on a GPU is written as work units",
        )
    text = _source(path, source, name)
    declared = [_declared(found, name) for found in _DECLARED.finditer(text)]
    if not declared:
        raise InvalidArgument(
            f"the C source '{name}' marks no function by PK_FUNCTION",
            where=caller_location(),
            remedy="PK_FUNCTION void f(PK_VIEW1(double) x)",
        )
    library = load_library(_HEADER + text, functions=[one for one, _, _ in declared])
    return SimpleNamespace(
        **{one: _Function(library, one, returned, given) for one, returned, given in declared}
    )


def _source(path: str | Path | None, source: str | None, name: str) -> str:
    text = source
    if text is None:
        if path is None:
            raise InvalidArgument(
                f"the C module '{name}' has neither a file nor a source",
                where=caller_location(),
                remedy="compile_into_module(path), or compile_into_module(None, source)",
            )
        text = Path(path).read_text(encoding="utf-8")
    found = _KOKKOS.search(text)
    if found is not None:
        raise InvalidArgument(
            f"the source of '{name}' has '{found.group()}': it is Kokkos' C++, and C is compiled",
            where=caller_location(),
            remedy="write it as a work unit, or in C with PK_FUNCTION, PK_VIEW1 and PK_AT1",
        )
    return text


def _declared(found: re.Match[str], name: str) -> tuple[str, str, tuple[_Parameter, ...]]:
    returned, function, inside = found.groups()
    if returned != "void" and returned not in _TYPES:
        raise _unknown(returned, function, name)
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", inside)]
    parameters: list[_Parameter] = []
    for part in parts:
        if part in ("", "void"):
            continue
        view, number = _VIEW.fullmatch(part), _NUMBER.fullmatch(part)
        if view is not None and view.group(2) in _TYPES:
            parameters.append(_Parameter(view.group(3), view.group(2), int(view.group(1))))
        elif number is not None and number.group(1) in _TYPES:
            parameters.append(_Parameter(number.group(2), number.group(1), 0))
        else:
            raise _unknown(part, function, name)
    return function, returned, tuple(parameters)


def _unknown(part: str, function: str, name: str) -> InvalidArgument:
    return InvalidArgument(
        f"'{part}' of the function '{function}' in '{name}' is neither a view nor a number",
        where=caller_location(),
        remedy=f"PK_VIEW1(double) x, or one of {', '.join(_TYPES)}",
    )


class _Function:
    """A function of a C source.

    Parameters:
        library: the library that it is in.
        name: its name.
        returned: the type of what it returns.
        parameters: what it takes.
    """

    def __init__(
        self, library: Any, name: str, returned: str, parameters: tuple[_Parameter, ...]
    ) -> None:
        self.__name__ = name
        self._parameters = parameters
        self._function = library[name]
        self._function.restype = _TYPES.get(returned)
        self._function.argtypes = [_CView if p.rank else _TYPES[p.kind] for p in parameters]

    def __call__(self, *given: Any) -> Any:
        """Call it, with views and numbers."""
        if len(given) != len(self._parameters):
            raise ViewMismatch(
                f"'{self.__name__}' takes {len(self._parameters)} arguments, and is given "
                f"{len(given)}",
                where=caller_location(),
                remedy=", ".join(p.name for p in self._parameters) or "pass none",
            )
        pairs = zip(self._parameters, given, strict=True)
        return self._function(*[parameter.passed(value) for parameter, value in pairs])
