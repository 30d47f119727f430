"""The kernels that routines of libraries stand for: compared with NumPy, as loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.language.library_routines import routine_kernel
from polygen.language.routine_table import ROUTINES, Form
from tests.routines import CASES, Case


@pytest.mark.parametrize("number", range(3))
def test_loops(number: int) -> None:
    """The loops that routines stand for compute what NumPy does: some of the cases."""
    for case in CASES[4 * number + 2 :: 16]:
        check(case)


@pytest.mark.more
@pytest.mark.parametrize("case", CASES, ids=str)
def test_all_loops(case: Case) -> None:
    check(case)


def test_text() -> None:
    for case in CASES[::6]:
        knl = case.kernel
        assert pg.parse_kernel(str(knl)) == knl, case.text


def check(case: Case) -> None:
    knl = pg.inline_callable_kernel(case.kernel, case.routine)
    for sizes in ((3, 4, 2), (1, 1, 1), (0, 0, 0)):
        case.check(knl, np.complex128 if case.is_complex else np.float64, sizes)


def test_every_routine_has_a_case() -> None:
    assert {case.routine for case in CASES} == set(ROUTINES)


def test_a_kernel_is_made_once() -> None:
    form: Any = Form("gemm", (("trans_a", "N"), ("trans_b", "T")), (), ("a", "b", "out"))
    knl = routine_kernel(form)
    assert routine_kernel(form) is knl
    assert "out[i, j] = sum(l, a[i, l]*b[j, l])" in str(knl)
    assert not pg.obligations(knl)
