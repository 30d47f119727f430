"""Random numbers of 64 random bits, in the kinds that states of pools have.

Functions here are compiled as they stand, and run as Python in the space Debug.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_11, _32, _33, _40 = (np.uint64(n) for n in (11, 32, 33, 40))
_LOW = np.uint64(2**32 - 1)
_OF_DOUBLE, _OF_HALF, _OF_SINGLE = 2.0**-53, 2.0**-32, np.float32(2.0**-24)
_TURN = 6.283185307179586


def urand64(word: Any) -> Any:
    """Return 64 random bits."""
    return word


def urand64_below(word: Any, end: Any) -> Any:
    """Return an integer from 0 to below a number."""
    return word % np.uint64(end)


def urand64_between(word: Any, start: Any, end: Any) -> Any:
    """Return an integer from one number to below another one."""
    return np.uint64(start) + word % (np.uint64(end) - np.uint64(start))


def urand(word: Any) -> Any:
    """Return an integer of 32 bits without a sign."""
    return np.int64(word >> _32)


def rand(word: Any) -> Any:
    """Return an integer of 31 bits."""
    return np.int64(word >> _33)


def rand_below(word: Any, end: Any) -> Any:
    """Return an integer from 0 to below a number."""
    return np.int64((word >> _33) % np.uint64(end))


def rand_between(word: Any, start: Any, end: Any) -> Any:
    """Return an integer from one number to below another one."""
    return np.int64(start) + np.int64((word >> _33) % np.uint64(end - start))


def drand(word: Any) -> Any:
    """Return a number from 0 to below 1."""
    return np.float64(word >> _11) * _OF_DOUBLE


def drand_below(word: Any, end: Any) -> Any:
    """Return a real number from 0 to below another one."""
    return np.float64(word >> _11) * _OF_DOUBLE * end


def drand_between(word: Any, start: Any, end: Any) -> Any:
    """Return a real number from one to below another one."""
    return start + np.float64(word >> _11) * _OF_DOUBLE * (end - start)


def frand(word: Any) -> Any:
    """Return a number of single precision from 0 to below 1."""
    return np.float32(word >> _40) * _OF_SINGLE


def frand_below(word: Any, end: Any) -> Any:
    """Return a number of single precision from 0 to below another one."""
    return np.float32(word >> _40) * _OF_SINGLE * np.float32(end)


def frand_between(word: Any, start: Any, end: Any) -> Any:
    """Return a number of single precision from one to below another one."""
    return np.float32(start) + np.float32(word >> _40) * _OF_SINGLE * np.float32(end - start)


def normal(word: Any) -> Any:
    """Return a normally distributed number, by the method of Box and Muller."""
    bits = word
    one, other = np.float64(bits >> _32) * _OF_HALF, np.float64(bits & _LOW) * _OF_HALF
    return np.sqrt(-2.0 * np.log(1.0 - one)) * np.cos(_TURN * other)


def normal_of(word: Any, mean: Any, deviation: Any) -> Any:
    """Return a normally distributed number with a mean and a deviation."""
    bits = word
    one, other = np.float64(bits >> _32) * _OF_HALF, np.float64(bits & _LOW) * _OF_HALF
    return mean + deviation * np.sqrt(-2.0 * np.log(1.0 - one)) * np.cos(_TURN * other)


# What a state of a pool offers: by the number of arguments.
DRAWS: dict[str, dict[int, Any]] = {
    "urand64": {0: urand64, 1: urand64_below, 2: urand64_between},
    "urand": {0: urand, 1: rand_below, 2: rand_between},
    "rand": {0: rand, 1: rand_below, 2: rand_between},
    "drand": {0: drand, 1: drand_below, 2: drand_between},
    "frand": {0: frand, 1: frand_below, 2: frand_between},
    "normal": {0: normal, 2: normal_of},
}
