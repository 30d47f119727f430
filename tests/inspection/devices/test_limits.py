"""`Limits`: devices that are known, and what is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import polygen as pg
from polygen.errors import InvalidArgument

REFUSED: list[tuple[str, Callable[[], pg.Limits], str]] = [
    ("no units", lambda: pg.Limits(1, 1, 0), "compute_units=0 is no limit of a device"),
    ("no time", lambda: pg.Limits(1, 1, launch_seconds=-1), "launch_seconds=-1 is no limit"),
    ("not known", lambda: pg.Limits.named("H20O"), "no device is known by the name 'H20O'"),
]


@pytest.mark.parametrize(("name", "call", "what"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(name: str, call: Callable[[], pg.Limits], what: str) -> None:
    with pytest.raises(InvalidArgument, match=what) as caught:
        call()
    assert caught.value.remedy
    assert "test_limits.py" in str(caught.value)


def test_known_devices_move_as_much_as_their_data_sheets_say() -> None:
    rates = {name: pg.Limits.named(name).bytes_per_second for name in ("A100", "H100", "H200")}
    assert rates == {"A100": 2.039e12, "H100": 3.35e12, "H200": 4.8e12}
