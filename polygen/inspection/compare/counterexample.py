"""Calls for which two kernels do not compute the same, found by running them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import islpy as isl
import numpy as np

from polygen.analysis.integers.isl_affine import to_val
from polygen.analysis.pairs.instance_pairs import witness
from polygen.errors import NoCompiler, PolygenWarning, UserError
from polygen.inspection.compare.auto_test import Pair
from polygen.inspection.compare.same_results import is_same
from polygen.ir.domain import flat_names
from polygen.ir.dtype import is_inexact
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.inferred_sizes import size_names
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.arrays.separate_arrays import whole

Change: TypeAlias = Callable[[Any], Any]

_SIZES = (5, 7, 3, 2, 1, 17)  # some that tiles do not divide
_LARGEST = 40  # of a witness: a kernel is to run at once


@dataclass(frozen=True)
class Counterexample:
    """A call for which two kernels leave other numbers.

    Attributes:
        sizes: the sizes that were passed.
        name: the array in which the results differ.
        index: the subscripts of the first element that differs.
        values: what is there after each kernel.
    """

    sizes: Mapping[str, int]
    name: str
    index: tuple[int, ...]
    values: tuple[Any, Any]


@dataclass(frozen=True)
class Runs:
    """The outcome of running two kernels on random numbers.

    Attributes:
        found: a call for which they differ, or None.
        sizes: those of the calls after which both left the same.
        why_none: why nothing could be run, if so.
    """

    found: Counterexample | None
    sizes: tuple[Mapping[str, int], ...]
    why_none: str = ""


def counterexample(first: Kernel, second: Kernel, doubted: Sequence[isl.Set]) -> Runs:
    """Run two kernels in C on random numbers, until they differ.

    Parameters:
        first, second: kernels with the same arguments, all of whose types are known.
        doubted: flat sets of sizes, and more, for which the two may differ.
    """
    done: list[Mapping[str, int]] = []
    why = ""
    for sizes in _candidates(first, second, doubted):
        try:
            found = _run(first, second, sizes)
            if found is not None:
                return Runs(found, tuple(done))
        except NoCompiler as error:
            return Runs(None, (), error.what)
        except UserError as error:  # there is no such call; there may be others
            why = error.what
            continue
        done.append(sizes)
    return Runs(None, tuple(done), "" if done else why)


def _run(first: Kernel, second: Kernel, sizes: Mapping[str, int]) -> Counterexample | None:
    """Run both kernels on numbers from 0 to 1, then from -2 to 2, then on whole ones of these."""
    with warnings.catch_warnings():
        # How the code for these runs could be better is nothing that was asked.
        warnings.simplefilter("ignore", PolygenWarning)
        pair = Pair(first, second, "c", sizes)
        for change in (_as_given, _of_both_signs, _whole):
            found = _differs(pair, change, sizes)
            if found is not None:
                return found
    return None


def _candidates(
    first: Kernel, second: Kernel, doubted: Sequence[isl.Set]
) -> Iterator[Mapping[str, int]]:
    """Yield sizes to try: those that are doubted first."""
    names = sorted(size_names(first) | size_names(second))
    known = first.assumptions.flat.intersect(second.assumptions.flat)
    seen: list[Mapping[str, int]] = []
    points = [witness(points) for points in doubted]
    tried = [{name: point.get(name, 1) for name in names} for point in points]
    tried += [dict.fromkeys(names, size) for size in _SIZES]
    tried += [{n: _SIZES[i % len(_SIZES)] for i, n in enumerate(names)}]
    for sizes in tried:
        allowed = all(abs(size) <= _LARGEST for size in sizes.values())
        if sizes not in seen and allowed and _is_in(known, sizes):
            seen.append(sizes)
            yield sizes


def _is_in(points: isl.Set, values: Mapping[str, int]) -> bool:
    for position, name in enumerate(flat_names(points)):
        if name in values:
            points = points.fix_val(isl.dim_type.param, position, to_val(values[name]))
    return not points.is_empty()


def _as_given(value: Any) -> Any:
    return value


def _of_both_signs(value: Any) -> Any:
    """Return numbers between -2 and 2 for those between 0 and 1; integers stay."""
    numbers: Any = np.asarray(value)
    if not is_inexact(numbers.dtype) or not numbers.shape:
        return value
    return (4 * numbers - 2).astype(numbers.dtype)


def _whole(value: Any) -> Any:
    """Return the nearest integers, so that some numbers are 0, and some are equal."""
    numbers: Any = np.asarray(value)
    is_rounded = numbers.dtype.kind == "f" and bool(numbers.shape)
    return numbers.round() if is_rounded else value


def _differs(pair: Pair, change: Change, sizes: Mapping[str, int]) -> Counterexample | None:
    """Run both kernels on changed numbers, and return where what they leave differs most."""
    pair.given = {name: change(value) for name, value in pair.given.items()}
    results = pair.results()
    for name in sorted({*written_arrays(pair.ref), *written_arrays(pair.test)}):
        whole_name = whole(pair.ref, name)
        expected, found = (np.asarray(result[whole_name]) for result in results)
        if is_same(found, expected)[0]:
            continue
        with np.errstate(all="ignore"):
            apart = np.abs(np.subtract(found, expected, dtype=np.complex128))
        apart = np.where(np.isnan(apart), np.where(_one_is_nan(found, expected), np.inf, 0), apart)
        index = tuple(int(i) for i in np.unravel_index(int(np.argmax(apart)), apart.shape))
        return Counterexample(sizes, whole_name, index, (expected[index], found[index]))
    return None


def _one_is_nan(found: Any, expected: Any) -> Any:
    return np.isnan(found) != np.isnan(expected)
