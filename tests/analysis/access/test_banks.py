"""How accesses meet the banks of local memory, beside counting the words one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TypeAlias

import pytest

import polygen as pg
from polygen.analysis.access.banks import BankConflicts, Banks, conflicts_of
from polygen.ir.kernel import Kernel
from polygen.transforms.arrays.banked_temporaries import in_banks
from tests.oracle.cases import kernel

LOCAL = pg.AddressSpace.LOCAL
FEW = Banks(8, 4)
GROUP = (8, 3)
Place: TypeAlias = Callable[[int, int, int], int | None]


def _kernel(text: str, dtype: str = "float32", domain: str = "", **options: str) -> Kernel:
    """Return a kernel in which a group of 8*3 work items uses a local `t` in loops over `k`."""
    t = pg.TemporaryVariable("t", dtype, (400,), address_space=LOCAL)
    tags = {"x": "l.0", "y": "l.1", **options}
    domain = domain or "{ [x, y, k]: 0<=x<8 and 0<=y<3 and 0<=k<3 }"
    with pg.without_proofs():
        knl = kernel(domain, text, t, "...")
        return pg.tag_inames(knl, {i: tag for i, tag in tags.items() if i in knl.inames})


def _found(knl: Kernel, banks: Banks = FEW) -> list[BankConflicts]:
    plain, (array,) = in_banks(knl, ("t",))
    return list(conflicts_of(plain, array, banks))


def _counted(place: Place, size: int, banks: Banks = FEW) -> int:
    """Return for how many words of one bank work items ask together, at most."""
    most = 1
    words_of_one = max(1, size // banks.width)
    together = banks.count // words_of_one
    items = [(x, y) for y in range(GROUP[1]) for x in range(GROUP[0])]
    for k, start in product(range(3), range(0, len(items), together)):
        words: set[int] = set()
        for x, y in items[start : start + together]:
            element = place(x, y, k)
            if element is not None:
                first = element * size // banks.width
                words |= set(range(first, first + words_of_one))
        in_bank = [sum(w % banks.count == b for w in words) for b in range(banks.count)]
        most = max(most, *in_bank)
    return most


PLACES: list[tuple[str, Callable[[int, int, int], int]]] = [
    ("x + 8*y", lambda x, y, _: x + 8 * y),  # nobody waits
    ("5", lambda _x, _y, _k: 5),  # all ask for one word
    ("8*x + y", lambda x, y, _: 8 * x + y),  # all ask one bank
    ("2*x + 17*k", lambda x, _, k: 2 * x + 17 * k),
    ("9*x + y", lambda x, y, _: 9 * x + y),
    ("7*y + x//2", lambda x, y, _: 7 * y + x // 2),
    ("8*((x + k) % 4) + y", lambda x, y, k: 8 * ((x + k) % 4) + y),
    ("30 - 4*x + k", lambda x, _, k: 30 - 4 * x + k),
]


@pytest.mark.parametrize(("subscript", "place"), PLACES)
def test_reads(subscript: str, place: Callable[[int, int, int], int]) -> None:
    for dtype, size in (("int8", 1), ("float32", 4), ("complex128", 16)):
        knl = _kernel(f"out[x, y, k] = t[{subscript}] {{id=r}}", dtype)
        (found,) = _found(knl)
        assert found.ways == _counted(place, size), dtype
        assert (found.insn_id, found.is_write) == ("r", False)


def test_each_access_is_named_once() -> None:
    text = "t[8*x] = a[x] {id=w}\nout[x, y] = t[x] + t[x] + t[2*x] {id=r, dep=w}"
    found = [(f.insn_id, f.access, f.is_write, f.ways) for f in _found(_kernel(text))]
    expected = [
        ("w", "t[8*x]", True, _counted(lambda x, y, _: 8 * x if y == 0 else None, 4)),
        ("r", "t[x]", False, _counted(lambda x, _y, _k: x, 4)),
        ("r", "t[2*x]", False, _counted(lambda x, _y, _k: 2 * x, 4)),
    ]
    assert sorted(found) == sorted(expected)


def test_work_items_that_take_no_part() -> None:
    """The group is as long as its longest axis; the others begin at 1, and leave some out."""
    domain = "{ [x, y, z]: 0<=x<8 and 0<=y<3 and 1<=z<4 }"
    text = "u[x, y] = a[x, y] {id=u}\nout[z, y] = t[8*z] {id=r, dep=*u}"
    (found,) = _found(_kernel(text, domain=domain, z="l.0"))
    assert found.ways == 3
    assert _counted(lambda x, _y, _k: 8 * (x + 1) if x < 3 else None, 4) == 3


def test_one_work_item_never_waits() -> None:
    domain = "{ [x, k]: 0<=x<1 and 0<=k<3 }"
    (found,) = _found(_kernel("out[x, k] = t[8*x + k] {id=r}", domain=domain))
    assert found.ways == 1


@pytest.mark.parametrize("subscript", ["b[x]", "x*x", "x + b[0]"])
def test_data_decides(subscript: str) -> None:
    knl = _kernel(f"<int32> j = b[0] {{id=j}}\nout[x, y] = t[{subscript}] {{id=r}}")
    (found,) = (f for f in _found(knl) if f.insn_id == "r")
    assert found.ways is None


def test_an_axis_of_no_constant_length() -> None:
    domain = "{ [x, y]: 0<=x<n and 0<=y<3 }"
    (found,) = _found(_kernel("out[x, y] = t[x] {id=r}", domain=domain))
    assert found.ways is None


def test_banks_of_other_counts_and_widths() -> None:
    knl = _kernel("out[x, y, k] = t[3*x + 2*y] {id=r}")
    for banks in (Banks(4, 4), Banks(16, 4), Banks(8, 8), Banks(32, 4)):
        (found,) = _found(knl, banks)
        assert found.ways == _counted(lambda x, y, _: 3 * x + 2 * y, 4, banks), banks
