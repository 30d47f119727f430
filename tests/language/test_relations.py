"""Dependencies on instances: ``dep=a[{ [i] -> [i'] : i' = i + 1 }]``."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    IllegalStep,
    MalformedInstruction,
    MalformedRelation,
    RelationContradicted,
    UnknownInstruction,
    UnorderedAccess,
)
from tests.oracle.interpreter import interpret

SIZES = (2, 3, 7, 16, 17)
LINE = "{ [i]: 1<=i<n }"
SHIFT = "a[i] = c[i]  {id=a}\nb[i] = a[i - 1]  {id=b, dep=a[{ [i] -> [i'] : i' = i + 1 }]}"


def shift() -> pg.Kernel:
    return pg.make_kernel(LINE, SHIFT, name="shift")


def check_shift(knl: pg.Kernel) -> None:
    for n in SIZES:
        given: dict[str, Any] = {
            "a": np.arange(n) * 0.5,
            "b": np.zeros(n),
            "c": np.arange(n) + 10.0,
        }
        a = given["a"].copy()
        a[1:] = given["c"][1:]
        expected = np.concatenate([[0.0], a[:-1]])
        for seed in range(3):
            found = interpret(knl, {**given, "n": n}, seed).arrays
            np.testing.assert_array_equal(found["b"], expected)
        knl(**given)
        np.testing.assert_array_equal(given["b"], expected)


def test_it_is_part_of_the_kernel() -> None:
    knl = shift()
    (relation,) = knl.instructions[1].happens_after
    assert (relation.first, relation.inames, relation.later_inames) == ("a", ("i",), ("i",))
    assert knl.instructions[1].depends_on == frozenset()  # the automatic one is replaced
    assert "dep=a[{ [i] -> [i' = 1 + i] }]" in str(knl)
    assert pg.parse_kernel(str(knl)) == knl
    assert pickle.loads(pickle.dumps(knl)) == knl  # noqa: S301  (our own)
    assert pg.make_kernel(LINE, knl.instructions, name="shift") == knl
    assert knl != pg.make_kernel(LINE, SHIFT.replace("i + 1", "i + 2"), name="shift")


def test_what_loops_order_needs_no_order_in_the_body() -> None:
    """The reader may stand first: only earlier iterations are asked for."""
    knl = pg.make_kernel(LINE, "\n".join(reversed(SHIFT.splitlines())), name="shift")
    typed = pg.add_dtypes(knl, {"c": "float64"})
    code = str(pg.generate_code(typed, "c"))
    assert code.index("b[i]") < code.index("a[i] =")
    check_shift(knl)


def test_steps_write_it_in_new_coordinates() -> None:
    check_shift(shift())
    split = pg.prioritize_loops(pg.split_iname(shift(), "i", 4), "i_outer, i_inner")
    (relation,) = split.instructions[1].happens_after
    assert relation.inames == ("i_outer", "i_inner")
    check_shift(split)
    check_shift(pg.rename_iname(shift(), "i", "row"))
    check_shift(pg.duplicate_inames(shift(), "i", "b"))
    check_shift(pg.map_domain(shift(), "{ [i] -> [k] : k = i + 3 }"))


def test_some_pairs_are_ordered_and_others_are_not() -> None:
    domains = ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"]
    text = "a[i] = 1  {id=first}\na[j] = 2  {id=second, dep=first[%s]}"
    pg.make_kernel(domains, text % "{ [i] -> [j'] : i = j' }")
    pg.make_kernel(domains, text % "{ [i] -> [j'] : i >= j' }")
    with pytest.raises(UnorderedAccess, match=r"for n=4, first\[i=3\]") as caught:
        pg.make_kernel(domains, text % "{ [i] -> [j'] : i = j' and i != 3 }")
    assert "second[j=3]" in caught.value.what
    with pytest.raises(UnorderedAccess):
        pg.make_kernel(domains, text % "{ [i] -> [j'] : i < j' }")


def test_sizes_and_unions() -> None:
    pairs = "{ [i] -> [j'] : i = j' < m; [i] -> [j'] : i = j' >= m }"
    text = f"a[i] = 1 {{id=x}}\na[j] = 2 {{dep=x[{pairs}]}}"
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<n and m >= 0 }", text)
    assert pg.parse_kernel(str(knl)) == knl
    fixed = pg.fix_parameters(knl, m=3)
    (relation,) = fixed.instructions[1].happens_after
    assert "m" not in relation.parameters


def test_the_code_respects_it() -> None:
    text = "b[j] = 2*a[j]  {id=late, dep=early[{ [i] -> [j'] : i = j' }]}\na[i] = i  {id=early}"
    knl = pg.make_kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"], text, name="two")
    for n in SIZES:
        _, (a, b) = knl(a=np.zeros(n), b=np.zeros(n))
        np.testing.assert_array_equal(b, 2 * np.arange(n))
        np.testing.assert_array_equal(a, np.arange(n))


def both() -> pg.Kernel:
    pairs = "{ [i] -> [i'] : i <= i' <= i + 1 }"
    text = f"a[i] = c[i]  {{id=a}}\nb[i] = a[i - 1] + a[i]  {{id=b, dep=a[{pairs}]}}"
    return pg.make_kernel(LINE, text, name="both")


def test_a_step_must_keep_related_pairs_in_order() -> None:
    with pytest.raises(RelationContradicted):
        pg.map_domain(both(), "{ [i] -> [k] : k = -i }")


def test_a_step_must_not_drop_pairs() -> None:
    weaker = pg.make_kernel(
        LINE,
        "a[i] = c[i] {id=a}\nx[i] = 2 {id=b, dep=a[{ [i] -> [i'] : i' = i + 1 }]}",
    ).instructions[1]

    @pg.transformation
    def weaken(knl: pg.Kernel) -> pg.Kernel:
        first, second = knl.instructions
        return knl.copy(instructions=(first, second.copy(happens_after=weaker.happens_after)))

    with pytest.raises(IllegalStep):
        weaken(both())


@pytest.mark.parametrize("n", SIZES)
def test_related_pairs_on_an_axis(n: int) -> None:
    """Groups wait for each other: what the relation orders is kept, by a launch for each."""
    knl = pg.tag_inames(both(), {"i": "g.0"})
    given = {"a": np.zeros(n), "b": np.zeros(n), "c": np.arange(n) + 1.0}
    knl.executor("opencl").run(None, None, given)
    a = np.concatenate([[0.0], given["c"][1:]])
    np.testing.assert_array_equal(given["b"][1:], (a[:-1] + a[1:]))


@pytest.mark.parametrize(
    ("option", "error", "what"),
    [
        ("a[{ [i] -> [i'] : i' = i - 1 }]", RelationContradicted, "'i' puts the second first"),
        ("a[{ [i] -> [i'] }]", RelationContradicted, "puts the second first"),
        ("b[{ [i] -> [i'] : i' = i }]", RelationContradicted, "no loop orders these"),
        ("a[{ [i] -> [j'] : i = 1 }]", MalformedRelation, "says {j} for 'b', which is within {i}"),
        ("a[{ [k] -> [i'] : i' = k }]", MalformedRelation, "says {k} for 'a'"),
        ("a[{ [i] : i = 1 }]", MalformedRelation, "those with a '"),
        ("a[{ [i'] -> [i] : i' = i }]", MalformedRelation, "those with a '"),
        ("a[{ [i] -> [i'] : i' = }]", MalformedRelation, "found '}'"),
        ("a[{ [i] -> [i'] : i' = i*i }]", MalformedRelation, "is no relation"),
        ("a[{ [i] -> [i'] : i' = i + c }]", MalformedRelation, "'c', which is no scalar argument"),
        ("x[{ [i] -> [i'] : i' = i }]", UnknownInstruction, "'x'"),
        ("a[i = i']", MalformedInstruction, "found '['"),
    ],
)
def test_refusals(option: str, error: type[pg.UserError], what: str) -> None:
    with pytest.raises(error) as caught:
        pg.make_kernel(LINE, f"a[i] = c[i]  {{id=a}}\nb[i] = 2  {{id=b, dep={option}}}")
    assert type(caught.value) is error
    assert what in caught.value.what


def test_what_a_call_cannot_check() -> None:
    """Where data decides, and a relation orders some pairs: said, and not taken for a mistake."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "a[p[i]] = i {id=x}\na[p[j]] = 2*j {id=y, dep=x[{ [i] -> [j'] : i = j' }]}",
        [pg.GlobalArg("a", np.float64, "m"), pg.GlobalArg("p", np.int32, "n"), "..."],
    )
    given: dict[str, Any] = {"a": np.zeros(5), "p": np.arange(5, dtype=np.int32)}
    with pytest.raises(pg.errors.ObligationUnchecked, match="a dependency on instances orders"):
        knl(check_assumptions=True, **given)
    knl(**given)
    np.testing.assert_array_equal(given["a"], 2 * np.arange(5))
