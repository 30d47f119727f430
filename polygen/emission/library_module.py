"""Calls a compiled kernel on NumPy's arrays.

The text of this file is what modules that `polygen.build` writes begin with: it needs NumPy alone.
"""

from __future__ import annotations

import ctypes as _ctypes
import operator as _operator
import pathlib as _pathlib
import typing as _typing

import numpy as _np
import numpy.lib.stride_tricks as _stride_tricks

_Any: _typing.TypeAlias = _typing.Any
_MOST_AXES = 8
_MOST_PLANS = 256  # calls of so many shapes are remembered
_ARRAY: _Any = _np.ndarray
_MASKED: _Any = _np.ma.MaskedArray


class _Layout(_ctypes.Structure):
    """The layout of an array: its C expressions, as the library's functions return them."""

    _fields_ = (
        ("axes", _ctypes.c_int),
        ("shape", _ctypes.c_int64 * _MOST_AXES),
        ("strides", _ctypes.c_int64 * _MOST_AXES),
        ("offset", _ctypes.c_int64),
        ("elements", _ctypes.c_int64),
        ("before", _ctypes.c_int64),
        ("size", _ctypes.c_int64),
    )


def _complex(part: _Any) -> _Any:
    class Complex(_ctypes.Structure):
        _fields_ = (("real", part), ("imag", part))

    return Complex


_C_TYPES: dict[str, _Any] = {
    "bool": _ctypes.c_bool,
    **{f"{u}int{n}": getattr(_ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
    "float16": _ctypes.c_float,
    "float32": _ctypes.c_float,
    "float64": _ctypes.c_double,
    "complex64": _complex(_ctypes.c_float),
    "complex128": _complex(_ctypes.c_double),
}


# Modules that begin with this text make one.
class _Kernel:  # pyright: ignore[reportUnusedClass]
    """A kernel in a shared library.

    Parameters:
        path: that of the library.
        name: the kernel's name.
        arguments: what it takes, in order: dictionaries with a name and a type; those of arrays
            with a shape.
    """

    def __init__(self, path: _pathlib.Path, name: str, arguments: list[dict[str, _Any]]) -> None:
        self._name = name
        self._arguments = {argument["name"]: argument for argument in arguments}
        self._arrays = [argument for argument in arguments if "shape" in argument]
        self._sizes = [argument["name"] for argument in arguments if argument.get("size")]
        library = _ctypes.CDLL(str(path))
        sizes = [_ctypes.c_int64] * len(self._sizes)
        self._check = _function(library, f"{name}_check", sizes, _ctypes.c_int)
        self._message = _function(library, f"{name}_message", [_ctypes.c_int], _ctypes.c_char_p)
        self._layouts = {
            array["name"]: _function(library, f"{name}_layout_{array['name']}", sizes, _Layout)
            for array in self._arrays
        }
        types = [_ctypes.c_void_p if "shape" in a else _C_TYPES[a["type"]] for a in arguments]
        self._run = _function(library, f"{name}_run", types, _ctypes.c_int)
        self._plans: dict[_Any, _Any] = {}  # by the places of arrays and by sizes

    def __call__(self, given: dict[str, _Any]) -> tuple[_Any, ...]:
        """Run the kernel; return the arrays that it has written."""
        passed = {name: value for name, value in given.items() if value is not None}
        for name in passed:
            if name not in self._arguments:
                raise TypeError(f"kernel '{self._name}' has no argument '{name}'")
        for array in self._arrays:
            if array["name"] in passed:
                self._check_array(array, passed[array["name"]])
            elif array["reads"]:
                raise TypeError(f"kernel '{self._name}' needs the array '{array['name']}'")
        sizes, layouts = self._plan(passed)
        arrays = {
            name: passed[name] if name in passed else _new_array(self._arguments[name], layout)
            for name, layout in layouts.items()
        }
        self._check_apart(arrays)
        values = [
            _address(argument, arrays[name], layouts[name])
            if name in arrays
            else sizes[name]
            if name in sizes
            else self._number(argument, passed.get(name))
            for name, argument in self._arguments.items()
        ]
        self._refuse(self._run(*values))
        return tuple([arrays[array["name"]] for array in self._arrays if array["writes"]])

    def _plan(self, passed: dict[str, _Any]) -> _Any:
        """Return all sizes, and where all arrays lie: those that are passed fit."""
        given = {name: value for name, value in passed.items() if name in self._layouts}
        numbers = [(name, passed.get(name)) for name in self._sizes]
        known = {n: self._number(self._arguments[n], v) for n, v in numbers if v is not None}
        places = [(name, array.shape, array.strides) for name, array in given.items()]
        key = (*places, *known.items())
        if key not in self._plans:
            sizes = self._found_sizes(given, known)
            self._refuse(self._check(*sizes.values()))
            layouts = {name: layout(*sizes.values()) for name, layout in self._layouts.items()}
            for name, array in given.items():
                _check_layout(self._arguments[name], array, layouts[name], sizes)
            while len(self._plans) >= _MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = sizes, layouts
        return self._plans[key]

    def _refuse(self, status: int) -> None:
        if status < 0:
            raise MemoryError(f"kernel '{self._name}': {self._message(status).decode()}")
        if status:
            raise ValueError(f"kernel '{self._name}': {self._message(status).decode()}")

    # --- arrays

    def _check_array(self, argument: dict[str, _Any], value: _Any) -> None:
        name, kind = argument["name"], argument["type"]
        if not isinstance(value, _ARRAY) or isinstance(value, _MASKED):
            raise TypeError(f"'{name}' has to be a NumPy array, not {type(value).__name__}")
        if value.dtype != _np.dtype(kind):
            raise TypeError(f"'{name}' has to be an array of {kind}, not of {value.dtype}")
        if value.ndim != len(argument["shape"]):
            text, count = ", ".join(argument["shape_text"]), len(argument["shape"])
            raise ValueError(f"'{name}' has {value.ndim} axes, and has to have {count}: ({text})")
        if argument["writes"] and not value.flags.writeable:
            raise ValueError(f"'{name}' is written, and the array is read-only")
        size = value.dtype.itemsize
        steps = [s for s, extent in zip(value.strides, value.shape, strict=True) if extent > 1]
        if any(step % size for step in steps) or value.ctypes.data % value.dtype.alignment:
            raise ValueError(f"the elements of '{name}' do not lie at multiples of their size")

    def _check_apart(self, arrays: dict[str, _Any]) -> None:
        names = [array["name"] for array in self._arrays]
        for position, name in enumerate(names):
            for other in names[position + 1 :]:
                both = (self._arguments[name], self._arguments[other])
                if any(a["may_alias"] for a in both) or not any(a["writes"] for a in both):
                    continue
                if _np.may_share_memory(arrays[name], arrays[other]):
                    raise ValueError(f"'{name}' and '{other}' overlap, and one of them is written")

    # --- numbers

    def _found_sizes(self, given: dict[str, _Any], known: dict[str, int]) -> dict[str, int]:
        """Return all sizes, in order: those that are known, and what follows from arrays."""
        found = dict(known)
        for what in ("shape", "strides", "shape"):
            for name, array in given.items():
                numbers = array.shape
                if what == "strides":
                    numbers = [stride // array.dtype.itemsize for stride in array.strides]
                for form, number in zip(self._arguments[name][what], numbers, strict=True):
                    _solve(form, number, found)
        for array in self._arrays:
            _lay_out(array, found)
        for name in self._sizes:
            if name not in found:
                raise TypeError(
                    f"kernel '{self._name}' needs '{name}', which does not follow from the arrays"
                )
        return {name: found[name] for name in self._sizes}

    def _number(self, argument: dict[str, _Any], value: _Any) -> _Any:
        """Return what C is passed for a number."""
        name, kind = argument["name"], _np.dtype(argument["type"])
        if value is None:
            raise TypeError(f"kernel '{self._name}' needs the number '{name}'")
        try:
            if kind.kind == "c":
                number = complex(value)
                return _C_TYPES[argument["type"]](number.real, number.imag)
            if kind.kind == "f":
                return float(kind.type(float(value)))
            number = bool(value) if kind.kind == "b" else _operator.index(value)
        except (TypeError, ValueError):
            raise TypeError(f"'{name}' has to be a number of type {kind}, not {value!r}") from None
        if kind.kind in "iu":
            limits: _Any = _np.iinfo(kind.name)
            if not limits.min <= number <= limits.max:
                raise ValueError(
                    f"'{name}' is {number}, and has to be from {limits.min} to {limits.max}"
                )
        return number


def _function(library: _Any, name: str, arguments: list[_Any], result: _Any) -> _Any:
    function = library[name]
    function.argtypes, function.restype = arguments, result
    return function


def _address(argument: dict[str, _Any], array: _Any, layout: _Layout) -> int:
    """Return the address that C is passed: before the first element by the array's offset."""
    address = array.ctypes.data - layout.offset * array.dtype.itemsize
    if array.size and address % argument["alignment"]:
        raise ValueError(
            f"'{argument['name']}' has to begin at a multiple of {argument['alignment']} bytes"
        )
    return int(address)


def _placed(layout: _Layout, size: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the shape of an array, and its strides in bytes."""
    strides = [stride * size for stride in layout.strides[: layout.axes]]
    return tuple(layout.shape[: layout.axes]), tuple(strides)


def _check_layout(
    argument: dict[str, _Any], array: _Any, layout: _Layout, sizes: dict[str, int]
) -> None:
    name = argument["name"]
    shape, strides = _placed(layout, array.dtype.itemsize)
    found = ", ".join(f"{key} = {value}" for key, value in sizes.items())
    if array.shape != shape:
        text = ", ".join(argument["shape_text"])
        raise ValueError(
            f"'{name}' has the shape {array.shape}, and has to have {shape} = ({text}), "
            f"with {found}"
        )
    for axis, extent in enumerate(shape):
        if extent > 1 and 0 not in shape and array.strides[axis] != strides[axis]:
            text = ", ".join(argument["strides_text"])
            raise ValueError(
                f"'{name}' has the strides {array.strides}, in bytes, and has to have "
                f"{strides}: ({text}) in elements, with {found}"
            )


def _new_array(argument: dict[str, _Any], layout: _Layout) -> _Any:
    kind = _np.dtype(argument["type"])
    shape, strides = _placed(layout, kind.itemsize)
    if layout.before:
        raise ValueError(
            f"an array has to be passed for '{argument['name']}': its strides are negative"
        )
    size, step = layout.elements * kind.itemsize, argument["alignment"]
    memory = (_np.empty if argument["all_written"] else _np.zeros)(size + step, _np.uint8)
    begin = -memory.ctypes.data % step
    elements = memory[begin : begin + size].view(kind)
    if layout.size == 0:
        return _np.empty(shape, kind)
    return _stride_tricks.as_strided(elements[layout.offset :], shape, strides)


def _solve(form: _Any, number: int, found: dict[str, int]) -> None:
    """Find the only size that is unknown in a linear form with a value, if there is only one."""
    if form is None:
        return
    terms, constant = form
    unknown = [name for name in terms if name not in found]
    if len(unknown) == 1:
        rest = number - constant - sum(f * found[n] for n, f in terms.items() if n in found)
        value, wrong = divmod(rest, terms[unknown[0]])
        if not wrong:
            found[unknown[0]] = value


def _lay_out(array: dict[str, _Any], found: dict[str, int]) -> None:
    """Choose what is left open of an array: C's order, from the beginning of its memory."""
    _solve(array["offset"], 0, found)
    step = 1
    for extent, stride in zip(reversed(array["shape"]), reversed(array["strides"]), strict=True):
        _solve(stride, step, found)
        if extent is None or not extent[0].keys() <= found.keys():
            return
        terms, constant = extent
        step *= max(1, constant + sum(factor * found[name] for name, factor in terms.items()))
