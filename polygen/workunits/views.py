"""Views: arrays of up to eight subscripts, as Kokkos has them."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np

from polygen.errors import InvalidArgument, ViewMismatch
from polygen.lazy.fused_calls import TRACE
from polygen.lazy.futures import VIEWS
from polygen.lazy.memory import Interval, interval
from polygen.source import caller_location
from polygen.workunits.element_types import element_dtype
from polygen.workunits.layouts import USED_TRAITS, Layout, Trait
from polygen.workunits.spaces import ExecutionSpace, MemorySpace, check_memory, get_default_space

_MOST_SUBSCRIPTS = 8


class View(np.lib.mixins.NDArrayOperatorsMixin):
    """An array with a layout and a trait; its elements are those of `array`.

    Parameters:
        shape: the extents, up to eight; an integer for one.
        dtype: the type of elements; None for `real`.
        space: where they are; host and GPU arrays are used where they are.
        layout: which subscript runs fastest; the default is the last one on processors, the first
            one in the space `Cuda`.
        trait: what is said of accesses.
        array: an array whose memory the view has; without it, the elements are zeros.

    Attributes:
        place: where it is in memory.
        traced_array: the array, whose elements calls that wait may not have written yet.
        trait: what is said of accesses.

    Raises:
        InvalidArgument: for a shape or a type that views do not have.

    >>> import polygen.workunits as pk
    >>> x = pk.View([2, 3], pk.int32)
    >>> x.fill(7)
    >>> x.extent(1), x.rank(), int(x[1, 2])
    (3, 2, 7)
    """

    __slots__ = ("__weakref__", "place", "traced_array", "trait")

    place: Interval
    traced_array: Any
    trait: Trait

    def __init__(
        self,
        shape: Sequence[int] | int | None = None,
        dtype: Any = None,
        space: ExecutionSpace | MemorySpace | None = None,
        layout: Layout = Layout.LayoutDefault,
        trait: Trait = Trait.TraitDefault,
        array: Any = None,
    ) -> None:
        self.trait = trait
        if space is not None:
            check_memory(space)
        if Trait.Atomic in trait:
            USED_TRAITS.add(Trait.Atomic)
        if array is not None:
            self._hold(as_array(array))
            return
        extents = (shape,) if isinstance(shape, int | np.integer) else tuple(shape or ())
        _check_shape(extents)
        order = _order(layout, space)
        self._hold(np.zeros(extents, element_dtype(dtype), order))

    @property
    def array(self) -> Any:
        """The elements, as an array of NumPy's or CuPy's; calls that wait for it are run."""
        TRACE.before_write(self.traced_array)
        return self.traced_array

    def _hold(self, array: Any) -> None:
        self.traced_array, self.place = array, interval(array)

    def _read(self) -> Any:
        TRACE.before_read(self.traced_array)
        return self.traced_array

    # --- what it is

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return tuple(self.traced_array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of elements."""
        found: np.dtype[Any] = self.traced_array.dtype
        return found

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(self.traced_array.size)

    @property
    def ndim(self) -> int:
        """The number of subscripts."""
        return int(self.traced_array.ndim)

    @property
    def data(self) -> Any:
        """The elements, as an array of NumPy's or CuPy's."""
        return self.array

    @property
    def T(self) -> View:  # noqa: N802
        """The view with its subscripts in the other order."""
        return _viewed(self.traced_array.T)

    @property
    def layout(self) -> Layout:
        """The order in memory: left, if the first subscript runs fastest."""
        flags = self.traced_array.flags
        is_left = flags.f_contiguous and not flags.c_contiguous
        return Layout.LayoutLeft if is_left else Layout.LayoutRight

    def extent(self, axis: int) -> int:
        """Return one of the extents."""
        return int(self.traced_array.shape[axis])

    def rank(self) -> int:
        """Return the number of subscripts."""
        return int(self.traced_array.ndim)

    # --- what is done with it

    def fill(self, value: Any) -> None:
        """Set all elements."""
        self.array[...] = _unwrapped(value)

    def resize(self, axis: int, extent: int) -> None:
        """Change one extent.  Elements that are in both shapes keep their values, new ones are 0.

        Parameters:
            axis: which extent.
            extent: its new value.
        """
        old = self.array
        shape = (*old.shape[:axis], int(extent), *old.shape[axis + 1 :])
        _check_shape(shape)
        order = "F" if self.layout is Layout.LayoutLeft else "C"
        new = _zeros_like(old, shape, order)
        both = tuple([slice(0, min(one, other)) for one, other in zip(shape, old.shape)])  # noqa: B905
        new[both] = old[both]
        self._hold(new)

    def set_precision(self, dtype: Any) -> None:
        """Convert all elements to a type.

        Parameters:
            dtype: the type that the view has from then on.
        """
        self._hold(self.array.astype(element_dtype(dtype)))

    def astype(self, dtype: Any) -> View:
        """Return a new view with the elements converted to a type."""
        return _viewed(self._read().astype(element_dtype(dtype)))

    def item(self) -> Any:
        """Return the only element, as a number of Python's."""
        return self._read().item()

    # --- as an array

    def __getitem__(self, key: Any) -> Any:
        found = self.traced_array[_key(key)]
        if getattr(found, "shape", ()) and _shares(found, self.traced_array):
            return Subview(self, key)
        found = self._read()[_key(key)]
        return _viewed(found) if getattr(found, "shape", ()) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        self.array[_key(key)] = _unwrapped(value)

    def __len__(self) -> int:
        return len(self.traced_array)

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self.traced_array)))

    def __contains__(self, value: Any) -> bool:
        return bool((self._read() == _unwrapped(value)).any())

    def __bool__(self) -> bool:
        return bool(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __int__(self) -> int:
        return int(self._read())

    def __index__(self) -> int:
        return int(self._read().__index__())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        own = self.array
        found = own.get() if hasattr(own, "get") else own
        if copy:
            return np.array(found, dtype=dtype)
        return found if dtype is None else found.astype(dtype, copy=False)

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: Any, **named: Any) -> Any:
        arrays = [_unwrapped(one) for one in inputs]
        if "out" in named:
            named["out"] = tuple([_unwrapped(one) for one in named["out"]])
        found = getattr(function, method)(*arrays, **named)
        if named.get("out"):
            return inputs[0] if inputs and found is arrays[0] else found
        return _viewed(found) if getattr(found, "shape", ()) else found

    def __array_function__(
        self, function: Any, _types: Any, given: Sequence[Any], named: dict[str, Any]
    ) -> Any:
        values = {name: _unwrapped_deep(value) for name, value in named.items()}
        return _viewed_deep(function(*map(_unwrapped_deep, given), **values))

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        """Return the module with functions of views, as the array API asks for it."""
        del api_version
        return importlib.import_module("polygen.workunits")

    def __dlpack__(self, **named: Any) -> Any:
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self) -> Any:
        return self.traced_array.__dlpack_device__()

    def __getattr__(self, name: str) -> Any:
        """Return what an array has of this name: ``x.sum()``, ``x.strides``."""
        if name.startswith("__") or name in View.__slots__:
            raise AttributeError(name)
        return getattr(self.array, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._read()!r})"

    def __str__(self) -> str:
        return str(self._read())

    def __reduce__(self) -> Any:
        return _viewed, (self._read(),)


class Subview(View):
    """A part of a view: it has the view's elements.

    Parameters:
        parent: the view.
        key: integers and slices, as for an array of NumPy's.

    Attributes:
        parent_view: the view.

    >>> import polygen.workunits as pk
    >>> x = pk.View([4], pk.int32)
    >>> pk.Subview(x, slice(1, 3)).fill(5)
    >>> print(x)
    [0 5 5 0]
    """

    __slots__ = ("parent_view",)

    def __init__(self, parent: View, key: Any) -> None:
        super().__init__(array=parent.traced_array[_key(key)], trait=parent.trait)
        self.parent_view = parent


class _Annotation(type):
    """The class of annotations of parameters: ``View1D[double]``."""

    def __getitem__(cls, item: Any) -> Any:
        parts = cast("Sequence[Any]", item if isinstance(item, tuple) else (item,))
        return ViewType(cls, parts[0])


class ViewType:
    """The type of a view, as an annotation says it.

    Attributes:
        kind: the class for a number of subscripts.
        dtype: the type of elements.
    """

    def __init__(self, kind: Any, dtype: Any) -> None:
        self.kind, self.dtype = kind, dtype

    @property
    def rank(self) -> int:
        """The number of subscripts."""
        return int(self.kind.subscripts)

    def check(self, name: str, value: Any) -> None:
        """Check that an argument is such a view.

        Parameters:
            name: the parameter.
            value: the argument.

        Raises:
            ViewMismatch: if it is none, or has another number of subscripts.
        """
        rank = getattr(value, "ndim", None)
        if rank == self.rank:
            return
        found = f"has {rank} subscripts" if rank is not None else f"is a {type(value).__name__}"
        raise ViewMismatch(
            f"'{name}' is declared as {self.kind.__name__}, and {found}",
            where=caller_location(),
            remedy=f"pass a view with {self.rank} subscripts, or change the annotation",
        )


class View1D(metaclass=_Annotation):
    """A view with one subscript, in annotations: ``View1D[double]``."""

    subscripts = 1


class View2D(View1D):
    """A view with two subscripts, in annotations."""

    subscripts = 2


class View3D(View1D):
    """A view with three subscripts, in annotations."""

    subscripts = 3


class View4D(View1D):
    """A view with four subscripts, in annotations."""

    subscripts = 4


class View5D(View1D):
    """A view with five subscripts, in annotations."""

    subscripts = 5


class View6D(View1D):
    """A view with six subscripts, in annotations."""

    subscripts = 6


class View7D(View1D):
    """A view with seven subscripts, in annotations."""

    subscripts = 7


class View8D(View1D):
    """A view with eight subscripts, in annotations."""

    subscripts = 8


def from_numpy(array: Any) -> View:
    """Return a view of the elements of an array, without a copy.

    Parameters:
        array: an array of NumPy's, or whatever has an array interface or DLPack.

    >>> import numpy as np
    >>> import polygen.workunits as pk
    >>> x = np.arange(3)
    >>> pk.from_numpy(x)[0] = 9
    >>> x
    array([9, 1, 2])
    """
    return View(array=array)


from_array = from_numpy


def as_array(value: Any) -> Any:
    """Return an array of NumPy's or CuPy's with the elements of a value, without a copy.

    Raises:
        InvalidArgument: if there is none.
    """
    if isinstance(value, View):
        return value.traced_array
    if isinstance(value, np.ndarray):
        own = cast("Any", value)
        return own if type(own) is np.ndarray else own.view(np.ndarray)
    if hasattr(value, "__cuda_array_interface__"):
        import cupy  # pyright: ignore[reportMissingImports]  # noqa: PLC0415

        return cast("Any", cupy).asarray(value)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    if isinstance(value, list | tuple):
        return np.array(cast("Sequence[Any]", value))
    raise InvalidArgument(
        f"a {type(value).__name__} is no array that a view can be of",
        where=caller_location(),
        remedy="pass an array, or something with __array_interface__ or __dlpack__",
    )


def _viewed(array: Any) -> View:
    return View(array=array)


VIEWS.append(_viewed)


def _shares(part: Any, array: Any) -> bool:
    """Tell whether a part of an array is a view of it, and no copy."""
    owner = array if array.base is None else array.base
    return part.base is owner or part.base is array


def _unwrapped(value: Any) -> Any:
    return value.array if isinstance(value, View) else value


def _unwrapped_deep(value: Any) -> Any:
    if isinstance(value, list):
        return [_unwrapped(part) for part in cast("Sequence[Any]", value)]
    if isinstance(value, tuple):
        return tuple([_unwrapped(part) for part in cast("Sequence[Any]", value)])
    return _unwrapped(value)


def _viewed_deep(value: Any) -> Any:
    if isinstance(value, list):
        return [_viewed_deep(part) for part in cast("Sequence[Any]", value)]
    if type(value) is tuple:
        return tuple([_viewed_deep(part) for part in cast("Sequence[Any]", value)])
    return _viewed(value) if getattr(value, "shape", ()) else value


def _key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple([_unwrapped(part) for part in cast("Sequence[Any]", key)])
    return _unwrapped(list(key) if isinstance(key, range) else key)


def _check_shape(shape: Sequence[Any]) -> None:
    extents = [getattr(extent, "__index__", lambda: -1)() for extent in shape]
    if not 0 <= len(extents) <= _MOST_SUBSCRIPTS or min(extents, default=0) < 0:
        raise InvalidArgument(
            f"{list(shape)} is no shape of a view",
            where=caller_location(),
            remedy=f"pass up to {_MOST_SUBSCRIPTS} extents, integers from 0 on",
        )


def _order(layout: Layout, space: ExecutionSpace | MemorySpace | None) -> Any:
    if layout is not Layout.LayoutDefault:
        return layout.value
    chosen = space if isinstance(space, ExecutionSpace) else get_default_space()
    return "F" if chosen is ExecutionSpace.Cuda else "C"


def _zeros_like(old: Any, shape: tuple[int, ...], order: str) -> Any:
    if isinstance(old, np.ndarray):
        return np.zeros(shape, old.dtype, order)  # type: ignore[call-overload]
    import cupy  # pyright: ignore[reportMissingImports]  # noqa: PLC0415

    return cast("Any", cupy).zeros(shape, old.dtype, order)
