"""Counts of random kernels: what is not refused is as often as counting one by one says."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.typing.index_type import index_type
from polygen.errors import UserError
from polygen.inspection.counts.executions import in_full
from polygen.lower import group_scans
from tests.oracle.counting import done
from tests.oracle.evaluate import OracleError
from tests.random_kernels.check import make_case

pytestmark = [
    pytest.mark.filterwarnings("ignore::polygen.errors.PolygenWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # of data that is taken for 0
]
FEW, MANY, BATCH = 10, 600, 60
# Of values that the oracle of counting does not have: it takes any data for 0.
_WITHOUT_DATA = (OracleError, TypeError, ValueError, KeyError)


def _counted(seed: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Compare the counts of a kernel; tell whether there was something to compare."""
    case = make_case(seed, steps=seed % 4)
    scans: list[Any] = []
    find = group_scans.scan_of

    def noted(*arguments: Any) -> Any:
        scans.append(find(*arguments))
        return scans[-1]

    monkeypatch.setattr("polygen.inspection.counts.occurrences.scan_of", noted)
    numbers: dict[str, Any] = {
        n: v for n, v in case.arguments.items() if isinstance(v, int | np.integer)
    }
    knl = case.changed
    try:
        operations = pg.get_op_map(knl, count_granularity="workitem")
        accesses = pg.get_mem_access_map(knl, count_granularity="workitem")
        pg.get_synchronization_map(knl)
    except UserError:
        return False
    finally:
        monkeypatch.undo()
    if any(scan is not None for scan in scans):
        return False  # the oracle knows of none
    try:
        found = done(in_full(knl), numbers, index_dtype=index_type(knl))
    except _WITHOUT_DATA:
        return False
    by_name: Counter[str] = Counter()
    for (name, _), number in found.operations.items():
        by_name[name] += number
    counts = operations.group_by("name").items()
    assert {k.name: n for k, c in counts if (n := c.eval_with_dict(numbers))} == +by_name, seed
    together = accesses.group_by("mtype", "direction", "variable").items()
    touched = {(k.mtype, k.direction, k.variable): c.at(numbers) for k, c in together}
    assert {key: n for key, n in touched.items() if n} == +found.accesses, seed
    return True


def test_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(_counted(seed, monkeypatch) for seed in range(FEW)) >= 2


@pytest.mark.deep
@pytest.mark.parametrize("start", range(FEW, MANY, BATCH))
def test_many(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = sum(_counted(seed, monkeypatch) for seed in range(start, start + BATCH))
    assert compared > BATCH // 6
