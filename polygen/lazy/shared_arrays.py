"""Arguments that share memory, as parts of one array: so dependences between them are exact.

parallel_for(n, unit, x=v[0:4], y=v[1:5])   ->   x = base[0:4]; y = base[1:5], with base = v
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from polygen.errors import OverlappingArguments
from polygen.python.tree_parts import load, placed
from polygen.source import caller_location

# Of each subscript of the base: its first element, and the step; 0 for a single element.
_Part = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class SharedArrays:
    """Arguments as parts of arrays that they share.

    Attributes:
        shapes: of each argument that is a part: its place, the number of its base, and for each
            subscript of that the step, or 0 for a single element.
        bases: the arrays.
        bounds: the integers that say where parts are.
    """

    shapes: tuple[tuple[int, int, tuple[int, ...]], ...]
    bases: tuple[Any, ...]
    bounds: tuple[int, ...]

    def values(self, given: Sequence[Any]) -> list[Any]:
        """Return arguments with arrays and bounds for those that are parts.

        Parameters:
            given: the arguments, by place.
        """
        parts = {place for place, _, _ in self.shapes}
        kept = [value for place, value in enumerate(given) if place not in parts]
        return [*kept, *self.bases, *self.bounds]

    def parameters(self, names: Sequence[str]) -> list[str]:
        """Return the names of `values`.

        Parameters:
            names: those of the arguments, by place.
        """
        parts = {place for place, _, _ in self.shapes}
        found = [name for place, name in enumerate(names) if place not in parts]
        found += [f"pk_base{at}" for at in range(len(self.bases))]
        for place, _, steps in self.shapes:
            for axis, step in enumerate(steps):
                found += [f"pk_{names[place]}_{axis}"]
                found += [f"pk_{names[place]}_{axis}_end"] * bool(step)
        return found

    def prelude(self, names: Sequence[str], like: ast.AST) -> list[ast.stmt]:
        """Return the statements that make the arguments of the bases.

        Parameters:
            names: the names of the arguments, by place.
            like: where the statements are.
        """
        made: list[ast.stmt] = []
        for place, base, steps in self.shapes:
            keys: list[ast.expr] = []
            for axis, step in enumerate(steps):
                first = f"pk_{names[place]}_{axis}"
                if not step:
                    keys.append(load(first, like))
                    continue
                by = None if step == 1 else ast.Constant(step)
                keys.append(ast.Slice(load(first, like), load(f"{first}_end", like), by))
            key = ast.Tuple(keys, ast.Load())
            part = ast.Subscript(load(f"pk_base{base}", like), key, ast.Load())
            made.append(placed(ast.Assign([ast.Name(names[place], ast.Store())], part), like))
        return made


def may_share(values: Sequence[Any]) -> bool:
    """Tell whether arguments may share memory, as views of NumPy's do."""
    owners = set[int]()
    for one in values:
        if isinstance(one, np.ndarray):
            array = cast("Any", one)
            own = id(array if array.base is None else array.base)
            if own in owners:
                return True
            owners.add(own)
    return False


def shared_arrays(given: Sequence[Any]) -> SharedArrays | None:
    """Return arguments that share memory as parts of arrays; None if none do.

    Parameters:
        given: the arguments.

    Raises:
        OverlappingArguments: if one is no part of an array by slices.
    """
    if not may_share(given):
        return None
    by_root: dict[int, list[int]] = {}
    roots: dict[int, Any] = {}
    for place, array in enumerate(given):
        if isinstance(array, np.ndarray) and array.size:
            root = _root(array)
            by_root.setdefault(id(root), []).append(place)
            roots[id(root)] = root
    shapes: list[tuple[int, int, tuple[int, ...]]] = []
    bases: list[Any] = []
    bounds: list[int] = []
    for key, places in by_root.items():
        distinct = {id(given[place]) for place in places}
        if len(distinct) < 2 or not _overlap([given[place] for place in places]):
            continue
        for place in places:
            part = _part(given[place], roots[key])
            if part is None:
                raise OverlappingArguments(
                    "an argument shares memory with other ones, and is no part of an array that "
                    "slices with positive steps describe",
                    where=caller_location(),
                    remedy="pass slices of one array, or a copy",
                )
            shapes.append((place, len(bases), tuple([step for _, _, step in part])))
            for first, end, step in part:
                bounds += [first, end] if step else [first]
        bases.append(roots[key])
    return SharedArrays(tuple(shapes), tuple(bases), tuple(bounds)) if bases else None


def _root(array: Any) -> Any:
    root = array
    while isinstance(root.base, np.ndarray):
        root = cast("Any", root.base)
    return root


def _overlap(arrays: Sequence[Any]) -> bool:
    return any(
        one is not other and np.may_share_memory(one, other)
        for at, one in enumerate(arrays)
        for other in arrays[:at]
    )


def _part(array: Any, root: Any) -> _Part | None:
    """Return where an array is in another one: the first and last place, and a step, by axis."""
    if array.dtype != root.dtype or not root.flags.c_contiguous:
        return None
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    found: list[tuple[int, int, int]] = []
    axis = 0
    for extent, stride in zip(root.shape, root.strides, strict=True):
        first, offset = divmod(offset, stride) if extent > 1 else (0, offset)
        is_own = axis < array.ndim and _runs_along(array, axis, stride, first, extent)
        if not is_own:
            found.append((first, first + 1, 0))
            continue
        step = array.strides[axis] // stride if array.shape[axis] > 1 else 1
        found.append((first, first + (array.shape[axis] - 1) * step + 1, step))
        axis += 1
    return tuple(found) if axis == array.ndim and not offset else None


def _runs_along(array: Any, axis: int, stride: int, first: int, extent: int) -> bool:
    count, own = array.shape[axis], array.strides[axis]
    if count == 1:
        return bool(own % stride == 0)
    return bool(own > 0 and own % stride == 0 and first + (count - 1) * (own // stride) < extent)
