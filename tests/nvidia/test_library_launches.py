"""Calls of libraries between launches on a GPU: NumPy does the mathematics, by pointers."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotEmit,
    LibraryInGraph,
    LibraryLayout,
    LibraryNotPossible,
    NoLibrary,
    NotPositiveDefinite,
    SingularMatrix,
)
from polygen.runtime.backends.cuda import library_launches
from tests.nvidia.fake_cupy import BLAS, FakeCuPy
from tests.nvidia.host_driver import HostDriver
from tests.nvidia.test_runtime import Foreign
from tests.oracle.cases import kernel
from tests.routines import CASES
from tests.runtime.backends.c.test_numerical_libraries import SIZES, TYPES, dtype_of, padded


@pytest.fixture
def cupy(host: HostDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCuPy]:
    """CuPy on the host's processor, beside a driver for it."""
    fake = FakeCuPy()
    for name, module in fake.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    library_launches._loaded.cache_clear()
    yield fake
    library_launches._loaded.cache_clear()
    assert fake.stream == 0  # which was current before
    assert fake.mode == 1  # what users set, is set again


@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("number", range(len(CASES)))
def test_values(number: int) -> None:
    """Each routine with each of its options, a type for each, in turns; sizes 0 and 1."""
    case = CASES[number]
    for sizes in SIZES:
        case.check(case.kernel, dtype_of(number), sizes, target="cuda")
    orders = [padded("C"), padded("F"), np.asfortranarray]
    case.check(case.kernel, dtype_of(number), (3, 4, 5), orders[number % 3], target="cuda")


@pytest.mark.more
@pytest.mark.usefixtures("cupy")
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_values(case: Any) -> None:
    for dtype in TYPES[1::2] if case.routine == "fft" else TYPES:
        for sizes in itertools.product((0, 1, 2, 5), repeat=3):
            for order in (np.copy, padded("C"), padded("F")):
                case.check(case.kernel, dtype, sizes, order, target="cuda")
