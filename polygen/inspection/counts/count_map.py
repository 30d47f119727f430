"""The maps that `polygen.get_op_map` and others return: kinds of things, each with its number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, Generic, SupportsIndex, TypeVar, cast

from polygen.errors import (
    InvalidArgument,
    UnknownCount,
    close_names,
    did_you_mean,
    in_users_words,
    unambiguous,
)
from polygen.inspection.counts.count import Count, added_up
from polygen.inspection.counts.count_keys import MemAccess, Op, Sync
from polygen.ir.kernel import Kernel
from polygen.source import caller_location

_MOST_SHOWN = 12  # keys in an error
_Key = TypeVar("_Key", bound=Op | MemAccess | Sync)


class CountMap(Mapping[_Key, Count], Generic[_Key]):
    """Counts by key: one for each kind of thing.  It prints as a table.

    What is not among its keys happens 0 times; ``counts.get(key)`` is None then.
    """

    def __init__(self, kernel: Kernel, kind: type[_Key], counts: Mapping[_Key, Count]) -> None:
        self._kernel = kernel
        self._kind = kind
        self._counts = dict(counts)

    def _with(self, counts: Mapping[_Key, Count]) -> CountMap[_Key]:
        return CountMap(self._kernel, self._kind, counts)

    def __getitem__(self, key: _Key) -> Count:
        """Return the number for a key.

        Raises:
            UnknownCount: if it is not there; this is a `KeyError`, too.
        """
        found = self._counts.get(key)
        if found is None:
            raise self._unknown(key)
        return found

    def _unknown(self, key: object) -> UnknownCount:
        keys = sorted(map(str, self._counts))
        shown = keys[:_MOST_SHOWN] + [f"and {len(keys) - _MOST_SHOWN} more"] * (
            len(keys) > _MOST_SHOWN
        )
        close = close_names(str(key), keys, count=1)
        return UnknownCount(
            f"nothing in kernel '{self._kernel.name}' is counted as {key}"
            + ("" if keys else ": nothing is counted at all"),
            where=caller_location(),
            excerpt="\n".join(shown),
            remedy=(f"did you mean {close[0]}? " if close else "")
            + "what may be missing: counts.get(key), key in counts; parts: filter_by, group_by",
        )

    def get(self, key: _Key, default: Any = None) -> Any:
        """Return the number for a key, or something else if it is not there."""
        return self._counts.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._counts

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def __str__(self) -> str:
        lines = sorted(f"{key}: {count}" for key, count in self._counts.items())
        return in_users_words("\n".join(lines), unambiguous(self._kernel.names_in_errors))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} kinds)"

    def copy(self) -> CountMap[_Key]:
        """Return a map that is equal."""
        return self._with(self._counts)

    def filter_by(self, **allowed: Any) -> CountMap[_Key]:
        """Return the part of the map whose keys have certain values.

        Parameters:
            allowed: for fields of the keys, such as `dtype` or `direction`, the values that they
                may have: a list of these, or one alone.

        Raises:
            InvalidArgument: if the keys have no such field.

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + a[0]")
        >>> loads = pg.get_mem_access_map(pg.add_dtypes(knl, {"a": "float32"})).filter_by(
        ...     direction=["load"]
        ... )
        >>> loads.eval_and_sum({"n": 10})
        20
        """
        wanted = {name: self._values(name, values) for name, values in allowed.items()}
        return self.filter_by_func(
            lambda key: all(getattr(key, name) in values for name, values in wanted.items())
        )

    def _values(self, name: str, values: Any) -> list[Any]:
        self._check_field(name)
        if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
            values = [values]
        wanted = cast("Iterable[Any]", values)
        # Made as keys are, so that np.float32 is the dtype of this name.
        return [getattr(self._kind(**{name: value}), name) for value in wanted]

    def filter_by_func(self, func: Callable[[_Key], bool]) -> CountMap[_Key]:
        """Return the part of the map whose keys pass a test.

        Parameters:
            func: takes a key, and returns whether it passes.
        """
        return self._with({k: n for k, n in self._counts.items() if func(k)})

    def group_by(self, *names: str) -> CountMap[_Key]:
        """Return a map whose keys have some fields only; what is the same then is added up.

        Parameters:
            names: the fields that are kept.  The others are None.

        Raises:
            InvalidArgument: if the keys have no such field.
        """
        for name in names:
            self._check_field(name)
        return self._under(lambda key: self._kind(**{name: getattr(key, name) for name in names}))

    def with_set_attributes(self, **values: Any) -> CountMap[_Key]:
        """Return a map whose keys have other values of some fields; what is the same is added up.

        Raises:
            InvalidArgument: if the keys have no such field.
        """
        for name in values:
            self._check_field(name)
        return self._under(lambda key: replace(key, **values))

    def _under(self, new_key: Callable[[_Key], _Key]) -> CountMap[_Key]:
        """Return a map with other keys; what has the same one then is added up."""
        return self._with(added_up((new_key(key), n) for key, n in self._counts.items()))

    def to_bytes(self) -> CountMap[_Key]:
        """Return the map with bytes in the place of numbers, by the `dtype` of each key.

        Raises:
            InvalidArgument: if keys have no `dtype`, or it was grouped away.
        """
        self._check_field("dtype")
        found: dict[_Key, Count] = {}
        for key, count in self._counts.items():
            dtype = getattr(key, "dtype", None)
            if dtype is None:
                raise InvalidArgument(
                    f"{key} has no type, so its bytes cannot be counted",
                    where=caller_location(),
                    remedy="call to_bytes() before group_by(...)",
                )
            found[key] = count * int(dtype.itemsize)
        return self._with(found)

    def sum(self) -> Count:
        """Return all numbers together."""
        return sum(self._counts.values(), Count(self._kernel))

    def eval_and_sum(self, params: Mapping[str, SupportsIndex] | None = None) -> int:
        """Return all numbers together, for given sizes; see `Count.eval_with_dict`."""
        return self.sum().eval_with_dict(params or {})

    def __add__(self, other: CountMap[_Key]) -> CountMap[_Key]:
        return self._with(added_up((*self._counts.items(), *other.items())))

    def __mul__(self, factor: int) -> CountMap[_Key]:
        return self._with({key: n * factor for key, n in self._counts.items()})

    __rmul__ = __mul__

    def _check_field(self, name: str) -> None:
        known = [f.name for f in fields(self._kind)]
        if name not in known:
            raise InvalidArgument(
                f"what is counted has no '{name}'",
                where=caller_location(),
                remedy=f"{did_you_mean(name, known)}; it has {', '.join(known)}",
            )
