"""Atomic updates with operations of a user's own: instances come in any order."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    CannotProve,
    MalformedInstruction,
    NameTaken,
    NoAtomicUpdate,
    UnknownIname,
    UnorderedAccess,
    UserError,
)
from tests.oracle.cases import agree, grid, kernel, split, tag

CLAIMED: dict[str, Any] = {"associative": True, "commutative": True}
pg.register_reduction("residues", "a*b % 7", 1, **CLAIMED)
pg.register_reduction("flips", "a ^ b", 0, **CLAIMED)
pg.register_reduction("norm2", "sqrt(a*a + b*b)", 0, **CLAIMED)
pg.register_reduction("farther", "max(a, abs(x))", 0, arguments=("a", "x"), **CLAIMED)
pg.register_reduction("greater", "if(b > a, b, a)", 0, **CLAIMED)
pg.register_reduction("shifted", "3*a + b", 0)

LINE = "{ [i]: 0<=i<n }"
DATA = (pg.GlobalArg("bin", np.int32),)
RANDOM = np.random.default_rng(11)
SIZES = tuple({"n": n, "m": 5} for n in (0, 1, 7, 8, 9))
BINS = {"bin": lambda call: RANDOM.integers(0, 5, call["n"]).astype(np.int32)}

Combine = Callable[[Any, Any], Any]
OPERATIONS: dict[str, tuple[Any, Combine]] = {
    "residues": (np.int32, lambda a, b: a * b % 7),
    "flips": (np.int32, lambda a, b: a ^ b),
    "norm2": (np.float64, lambda a, b: np.sqrt(a * a + b * b)),
    "farther": (np.float32, lambda a, b: max(a, abs(b))),
    "greater": (np.int64, max),
}


def scattered(name: str, dtype: Any) -> pg.Kernel:
    data = pg.GlobalArg("a", dtype, shape="m"), pg.GlobalArg("x", dtype), *DATA
    return kernel(LINE, f"a[bin[i]] = {name}(a[bin[i]], x[i])  {{id=put, atomic}}", *data)


@pytest.mark.parametrize("name", OPERATIONS)
def test_on_work_items(name: str) -> None:
    dtype, combine = OPERATIONS[name]
    knl = grid("i", 64)(scattered(name, dtype))
    x = RANDOM.integers(-6, 7, 1013).astype(dtype)
    bins = RANDOM.integers(0, 5, 1013).astype(np.int32)
    start = RANDOM.integers(1, 6, 5).astype(dtype)
    wanted = list(start)
    for place, value in zip(bins, x, strict=True):
        wanted[place] = combine(wanted[place], value)
    for target in ("c", "opencl"):
        _, (found,) = knl.executor(target)(a=start.copy(), x=x, bin=bins)
        np.testing.assert_allclose(found, wanted, rtol=1e-13, err_msg=target)


@pytest.mark.parametrize("name", ["residues", "farther", "flips"])
def test_it_means_what_the_kernel_means(name: str) -> None:
    knl = scattered(name, OPERATIONS[name][0])
    agree(knl, SIZES, grid("i", 4), tag(i="g.0"), split("i", 4), **BINS)


def test_it_is_part_of_the_kernel() -> None:
    knl = scattered("residues", np.int32)
    text = str(knl)
    assert "[i] a[bin[i]] = a[bin[i]]*x[i] % 7  {id=put, atomic=residues}" in text
    assert "residues(a, b) := a*b % 7, identity: 1, claimed: associative, commutative" in text
    assert pg.parse_kernel(text) == knl
    assert pg.parse_kernel(text.replace("residues", "unknown_so_far")) != knl
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301  (our own)
    plain = text.replace("atomic=residues", "atomic")
    with pytest.raises(NoAtomicUpdate):
        pg.parse_kernel(plain)
    ordered = pg.make_kernel(
        LINE, "a[0] = residues(a[0], x[i])  {atomic=seq_cst:work_group}"
    ).instructions[0]
    assert isinstance(ordered, pg.Assignment)
    assert str(ordered.atomicity) == "atomic=residues:seq_cst:work_group"


def test_operations_that_a_language_has_are_used() -> None:
    knl = grid("i", 64)(scattered("flips", np.int32))
    assert "atomic_xor(" in pg.generate_code(knl, "opencl").source
    assert "#pragma omp atomic" in pg.generate_code(knl, "c").source


def test_two_operations_do_not_commute() -> None:
    pair = "a[0] = residues(a[0], x[i])  {id=one, atomic}\n"
    same = "a[0] = residues(a[0], y[j])  {id=two, atomic}"
    other = "a[0] = greater(a[0], y[j])  {id=two, atomic}"
    domains = [LINE, "{ [j]: 0<=j<n }"]
    pg.make_kernel(domains, pair + same)
    with pytest.raises(UnorderedAccess):
        pg.make_kernel(domains, pair + other)


def test_the_same_operation_by_another_name() -> None:
    """What an operation does counts, and for ``^`` it is known to commute with itself."""
    text = "a[0] = flips(a[0], x[i]) {id=one, atomic}\na[0] ^= x[j] {atomic, id=two}"
    pg.make_kernel([LINE, "{ [j]: 0<=j<n }"], text)


def test_rounding_counts_where_it_has_to() -> None:
    exact, rounded = scattered("residues", np.int32), scattered("norm2", np.float64)
    strict = {"allow_reassociation": False}
    tag(i="g.0")(pg.set_options(exact, **strict))
    tag(i="g.0")(rounded)
    with pytest.raises(CannotProve):
        tag(i="g.0")(pg.set_options(rounded, **strict))


def test_scalars() -> None:
    knl = pg.make_kernel(
        ["{ [g, l]: 0<=g<m and 0<=l<32 }"],
        """
        t = 1                        {id=first, inames=g}
        t = residues(t, x[g, l])     {id=each, dep=first, inames=g:l, atomic}
        out[g] = t                   {dep=each}
        """,
        [
            pg.TemporaryVariable("t", np.int32, address_space=pg.AddressSpace.LOCAL),
            pg.GlobalArg("x", np.int32, shape="m, 32"),
            "...",
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "l": "l.0"})
    x = RANDOM.integers(1, 7, (9, 32)).astype(np.int32)
    for target in ("c", "opencl"):
        _, (out,) = knl.executor(target)(x=x)
        wanted = [int(np.prod([int(v) for v in row], dtype=object)) % 7 for row in x]
        np.testing.assert_array_equal(out, wanted)


def test_two_values_in_any_expression() -> None:
    knl = pg.make_kernel(
        LINE,
        """
        f(v) := residues(v + 0, 3)
        out[i] = f(x[i]) + farther(x[i] - 5, y[i])/2  {if=greater(1, 0) > 0}
        """,
    )
    x, y = RANDOM.integers(0, 9, 13), RANDOM.integers(-9, 9, 13)
    _, (out,) = knl(x=x, y=y, out=np.zeros(13))
    np.testing.assert_array_equal(out, x * 3 % 7 + np.maximum(x - 5, abs(y)) / 2)
    assert pg.parse_kernel(str(knl)) == knl


@pytest.mark.parametrize(
    ("text", "error", "what"),
    [
        ("a[i] = shifted(a[i], x[i]) {atomic}", NoAtomicUpdate, "'shifted' is not claimed to be"),
        ("a[i] = residues(x[i], a[i]) {atomic}", NoAtomicUpdate, "does not combine 'a[i]' with"),
        ("a[i] = residues(a[i], a[i]) {atomic}", NoAtomicUpdate, "does not combine 'a[i]' with"),
        ("a[i] = 1 + residues(a[i], x[i]) {atomic}", NoAtomicUpdate, "no update"),
        ("a[i] = residues(a[i], sum(j, x[j])) {atomic}", NoAtomicUpdate, "is given a reduction"),
        ("a[i] = a[i] + 1 {atomic=residue}", MalformedInstruction, "'residue' says nothing of an"),
        ("a[i] = a[i] + 1 {atomic=sum}", MalformedInstruction, "'sum' says nothing of an"),
        ("a[i] = 1 {atomic=init:residues}", MalformedInstruction, "'residues' is said twice"),
        ("a[i] = residues(q, x[i])", UnknownIname, "residues() runs over 'q', which no domain"),
        ("a[i] = residues(a[i], x[i], 1)", MalformedInstruction, "not 3 arguments"),
        ("a[i] = residues<int8>(a[i], x[i])", MalformedInstruction, "takes an iname first"),
        ("a[i] = residues((i, j), (j, i))", MalformedInstruction, "takes an iname first"),
    ],
)
def test_refusals(text: str, error: type[UserError], what: str) -> None:
    with pytest.raises(error) as caught:
        pg.make_kernel([LINE, "{ [j]: 0<=j<n }"], text, [pg.GlobalArg("a", shape="n"), "..."])
    assert type(caught.value) is error
    assert what in caught.value.what
    assert caught.value.remedy


def test_words_of_atomic_are_no_names() -> None:
    with pytest.raises(NameTaken, match="it is a word of"):
        pg.register_reduction("relaxed", "a + b", 0)
