"""Subscripts that are data: tables of constants, claims, and quotients, beside enumeration."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.accesses import touched
from polygen.analysis.integers.known_facts import is_never_written
from polygen.analysis.pairs.indirect_accesses import may_be_equal
from polygen.ir.kernel import Kernel
from tests.analysis.flat import points, where
from tests.analysis.pair_sets import listed, read_of, unproved, write_of
from tests.analysis.python_values import python_value
from tests.oracle.cases import kernel

VALUES = range(3)


def _kernel(table: list[int], index: str) -> Kernel:
    known = pg.TemporaryVariable(
        "t", "int32", initializer=np.array(table, np.int32), read_only=True
    )
    with pg.without_proofs():
        return kernel(
            "{ [i]: 0<=i<3 }", f"x[t[{index}]] = 1 {{id=s}}", known, pg.GlobalArg("x", shape=9)
        )


def _pairs(knl: Kernel) -> set[tuple[int, ...]]:
    (write,) = touched(knl, "s")["x"]
    assert write.reference is not None
    return points(may_be_equal(knl, write.reference, write.reference), ["i", "i'"], VALUES)


def test_no_value_is_there_twice() -> None:
    knl = _kernel([4, 8, 0], "i")
    assert _pairs(knl) == where(lambda i, other: i == other, 2, VALUES)
    assert is_never_written(knl, "t")
    # So the scatter may run in any order.
    assert pg.tag_inames(knl, {"i": "g.0"}).tags


def test_a_value_is_there_twice() -> None:
    knl = _kernel([4, 8, 4], "i")
    assert _pairs(knl) == where(lambda *_: True, 2, VALUES)
    with pytest.raises(pg.errors.CannotProve):
        pg.tag_inames(knl, {"i": "g.0"})


def test_equal_subscripts_give_equal_values() -> None:
    assert _pairs(_kernel([4, 8, 0], "i//2")) == where(lambda i, o: i // 2 == o // 2, 2, VALUES)


def test_a_table_that_may_be_written() -> None:
    text = "idx[i] = i {id=w}\nx[idx[i]] = 1 {id=s, dep=w}"
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<3 }", text, pg.TemporaryVariable("idx", "int32", 3), "...")
    (write,) = touched(knl, "s")["x"]
    assert write.reference is not None
    assert not is_never_written(knl, "idx")
    found = may_be_equal(knl, write.reference, write.reference)
    assert points(found, ["i", "i'"], VALUES) == where(lambda *_: True, 2, VALUES)


def test_subscripts_of_a_table_that_are_not_affine() -> None:
    table = pg.GlobalArg("idx", "int32", 9)
    with pg.without_proofs():
        knl = kernel("{ [i]: 0<=i<3 }", "x[idx[i//m]] = 1 {id=s}", table, "...")
        knl = pg.assume_injective(knl, "idx")
    (write,) = touched(knl, "s")["x"]
    assert write.reference is not None
    found = may_be_equal(knl, write.reference, write.reference)
    assert points(found, ["i", "i'"], VALUES) == where(lambda *_: True, 2, VALUES)


def _two(left: str, right: str, *data: Any) -> Kernel:
    with pg.without_proofs():
        return kernel("{ [i,j]: 0<=i,j<n }", f"x[{left}] = x[{right}] + j  {{id=s}}", *data, "...")


def _elements(text: str, n: int, **arrays: Any) -> dict[tuple[int, int], Any]:
    return {
        (i, j): python_value(f"({text},)", {"i": i, "j": j, "n": n, "m": 2, **arrays})
        for i, j in product(range(n), repeat=2)
    }


TABLES = [
    ("idx[i]", "idx[i]"),
    ("idx[i]", "idx[i+1]"),
    ("idx[i]", "idx[i]+1"),
    ("2*idx[i]", "2*idx[j]+1"),
    ("idx[i]", "jdx[i]"),
    ("idx[jdx[i]]", "idx[jdx[j]]"),
    ("idx[i], j", "idx[j], i"),
    ("idx[i//2]", "idx[j]"),
    ("idx[i]+j", "idx[j]+i"),
    ("idx[i]*j", "idx[j]*i"),
    ("idx[i]%2", "idx[j]%2"),
    ("min(idx[i], 1)", "min(idx[j], 1)"),
]


@pytest.mark.parametrize(("left", "right"), TABLES)
@pytest.mark.parametrize("injective", [(), ("idx",), ("idx", "jdx")])
def test_subscripts_that_are_data(left: str, right: str, injective: tuple[str, ...]) -> None:
    """No two instances are ruled out that touch one element, for any data that is as claimed."""
    shape = ("p", "p") if left.endswith(", j") else ("p",)
    tables = [pg.GlobalArg(name, "int32", "q") for name in ("idx", "jdx")]
    used = [t for t in tables if t.name in left + right]
    knl = _two(left, right, pg.GlobalArg("x", shape=shape), *used)
    for name in injective:
        if name in left + right:
            knl = pg.assume_injective(knl, name)
    accesses = [a.reference for a in touched(knl, "s")["x"]]
    read, write = accesses
    assert read is not None
    assert write is not None
    possible = may_be_equal(knl, write, read)
    random, excluded, n = np.random.default_rng(0), 0, 3
    seen: set[tuple[int, ...]] = set()
    for _ in range(200):
        arrays = {
            name: random.permutation(6) if name in injective else random.integers(0, 6, 6)
            for name in ("idx", "jdx")
        }
        here, there = (_elements(text, n, **arrays, min=min) for text in (left, right))
        seen |= {(*x, *y) for x in here for y in there if here[x] == there[y]}
    for point in product(range(n), repeat=4):
        holds = _contains(possible, dict(zip(("i", "j", "i'", "j'"), point, strict=True)), n)
        assert holds or point not in seen
        excluded += not holds
    exact = {"idx[i]", "2*idx[i]", "idx[jdx[i]]"}
    if left in exact and "+1" not in right and len(injective) == left.count("dx"):
        assert excluded == 81 - len(seen)  # and no more than these are left


def _contains(flat: isl.Set, values: dict[str, int], n: int) -> bool:
    for name, value in {**values, "n": n}.items():
        position = flat.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            flat = flat.fix_val(isl.dim_type.param, position, isl.Val(value))
    return not flat.is_empty()


def test_quotients_and_remainders_by_a_size_tell_instances_apart() -> None:
    """Both together; a quotient alone only says that two instances are near each other."""
    for subscripts, same in (
        ("i//m, i%m", lambda a, b: a == b),
        ("i//m, 0", lambda a, b: abs(a - b) < 3),
    ):
        argument = pg.GlobalArg("x", shape="p, p")
        knl = unproved(
            "{ [i]: 0<=i<n }", f"x[{subscripts}] = 1 {{id=s}}", argument, "...", assumptions="m>=1"
        )
        reference = write_of(knl, "s", "x").reference
        assert reference is not None
        found = listed(may_be_equal(knl, reference, reference), ["i", "i'"], range(7), n=7, m=3)
        touching = where(lambda a, b: a // 3 == b // 3, 2, range(7))
        if subscripts == "i//m, i%m":
            touching &= where(lambda a, b: a % 3 == b % 3, 2, range(7))
        assert touching <= found <= where(same, 2, range(7))


def test_verbatim_c_may_touch_all_of_an_array() -> None:
    text = """
        x[i] = 1 {id=s}
        y[i] = x[i] {id=u, dep=s}
        """
    knl = unproved("{ [i]: 0<=i<3 }", text)
    write, read = write_of(knl, "s", "x").reference, read_of(knl, "u", "x").reference
    assert write is not None
    assert read is not None
    plain = points(may_be_equal(knl, write, read), ["i", "i'"], VALUES)
    assert plain == where(lambda a, b: a == b, 2, VALUES)
    anywhere = replace(read, index=())
    assert points(may_be_equal(knl, write, anywhere), ["i", "i'"], VALUES) == where(
        lambda *_: True, 2, VALUES
    )
