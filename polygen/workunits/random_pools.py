"""Random pools: a state for each iteration, whose numbers depend on the seed and the index alone.

state = pool.get_state()     ->   count = 0
x[i] = state.drand()         ->   x[i] = drand(random_word(pool[0], 0, i, 0, 0, count)); count += 1
pool.free_state(state)
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from polygen.errors import InvalidArgument
from polygen.python.names.random_words import random_word
from polygen.source import caller_location
from polygen.workunits.random_numbers import DRAWS


class _Current(threading.local):
    """The iteration that runs as plain Python."""

    index: Sequence[int] = (0,)


CURRENT = _Current()
USED_POOLS: list[bool] = []


class RandomPool:
    """A source of random numbers for work units.

    Each dispatch that is passed the pool draws others; with the same seed, a program draws the same
    numbers in all spaces.

    Parameters:
        seed: an integer.
        _states: how many states there are, which does not matter.

    >>> import numpy as np
    >>> import polygen.workunits as pk
    >>> @pk.workunit
    ... def fill(i: int, x: pk.View1D[pk.double], pool: pk.RandomPool):
    ...     state = pool.get_state()
    ...     x[i] = state.drand(5.0, 6.0)
    ...     pool.free_state(state)
    >>> x = np.zeros(100)
    >>> pk.parallel_for(pk.RangePolicy(pk.Debug, 0, 100), fill, x=x, pool=pk.RandomPool(1))
    >>> bool(x.min() >= 5) and bool(x.max() < 6)
    True
    """

    __slots__ = ("_keys", "_seed")

    def __init__(self, seed: int = 0, _states: int = 0) -> None:
        USED_POOLS[:] = [True]
        self._seed = np.uint64(int(seed) % 2**64)
        self._keys = np.zeros(1, np.uint64)
        self._keys[0] = draw("urand64", self._seed, (), 0, ())

    def get_state(self) -> RandomState:
        """Return the state of the iteration that runs."""
        return RandomState(self._keys[0], tuple(CURRENT.index))

    def free_state(self, state: Any) -> None:
        """Do nothing: no state is shared."""

    def advance(self) -> None:
        """Let the next dispatch draw other numbers."""
        # A new array: calls that wait have the old one.
        self._keys = np.array([draw("urand64", self._keys[0], (), 1, ())], np.uint64)

    @property
    def keys(self) -> Any:
        """The key of the pool, as an array of one element."""
        return self._keys


def advance_pools(values: Sequence[Any]) -> None:
    """Let the pools among arguments draw other numbers than in the dispatch before."""
    for value in values:
        if isinstance(value, RandomPool):
            value.advance()


Random_XorShift64_Pool = Random_XorShift1024_Pool = RandomPool


class RandomState:
    """The random numbers of an iteration, one after the other.

    Parameters:
        key: that of the pool.
        index: the iteration.
    """

    def __init__(self, key: Any, index: Sequence[int]) -> None:
        self._key, self._index, self._count = key, index, 0

    def __getattr__(self, name: str) -> Any:
        if name not in DRAWS:
            raise AttributeError(name)

        def drawn(*given: Any) -> Any:
            self._count += 1
            return draw(name, self._key, self._index, self._count - 1, given)

        return drawn


def draw(name: str, key: Any, index: Sequence[int], count: int, given: Sequence[Any]) -> Any:
    """Return a random number, as Python.

    Parameters:
        name: what a state calls it.
        key: that of the pool.
        index: the iteration.
        count: how many numbers were drawn before.
        given: the bounds.

    Raises:
        InvalidArgument: if there is no such number with so many bounds.
    """
    if len(given) not in DRAWS.get(name, {}):
        raise InvalidArgument(
            f"'{name}' of a random state is given {len(given)} numbers",
            where=caller_location(),
            remedy=f"it takes {' or '.join(map(str, DRAWS.get(name, {0: None})))} of them",
        )
    i, j, k = (*index, 0, 0, 0)[:3]
    word = random_word(key, _packed(index[3:]), i, j, k, count)
    with np.errstate(over="ignore"):
        return DRAWS[name][len(given)](word, *given)


def _packed(index: Sequence[Any]) -> Any:
    """Return further indices as one number: of 21 bits each."""
    return sum(number << 21 * at for at, number in enumerate(index))


def rand(seed: int, index: int) -> Any:
    """Return a number from 0 to below 1 that depends on a seed and an index alone.

    Parameters:
        seed: an integer.
        index: an integer.

    >>> import polygen.workunits as pk
    >>> float(pk.rand(1, 2)) == float(pk.rand(1, 2)) != float(pk.rand(1, 3))
    True
    """
    return draw("drand", np.uint64(int(seed) % 2**64), (index,), 0, ())


def random_uint64(seed: int, index: int) -> Any:
    """Return 64 bits that depend on a seed and an index alone.

    Parameters:
        seed: an integer.
        index: an integer.
    """
    return draw("urand64", np.uint64(int(seed) % 2**64), (index,), 0, ())
