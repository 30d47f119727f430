"""Blocks: if, for, with; and what they say of the instructions inside."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import ConditionChanges, InvalidArgument, MalformedInstruction
from polygen.ir.show_expression import show_expression
from tests.oracle.interpreter import interpret

SIZES = (0, 1, 7, 16, 17)


def conditions(knl: pg.Kernel, insn_id: str) -> list[str]:
    return [show_expression(p) for p in knl.instruction(insn_id).predicates]


def test_branches_exclude_each_other() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        if i < 3
            a[i] = 1  {id=first}
        elif i % 2 == 0   # the even ones
            a[i] = 2  {id=second, if=n > 4}
        else
            if b[i] > 0
                a[i] = 3  {id=third}
            end
        end
        c[i] = 0  {id=outside}
        """,
    )
    assert conditions(knl, "first") == ["i < 3"]
    assert conditions(knl, "second") == ["not i < 3", "i % 2 == 0", "n > 4"]
    assert conditions(knl, "third") == ["not i < 3", "not i % 2 == 0", "b[i] > 0"]
    assert conditions(knl, "outside") == []
    assert pg.parse_kernel(str(knl)) == knl


def classify(n: int, a: np.ndarray) -> np.ndarray:
    out = np.empty(n, np.int32)
    for i, x in enumerate(a):
        if x < 0:
            out[i] = -1
        elif x == 0:
            out[i] = 0 if i % 2 else 7
        else:
            out[i] = 1
    return out


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("device", ["c", "opencl"])
def test_branches_against_numpy(n: int, device: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        for i
            if a[i] < 0
                out[i] = -1
            elif a[i] == 0
                if i % 2 == 1
                    out[i] = 0
                else
                    out[i] = 7
                end
            else
                out[i] = 1
            end
        end
        """,
        [pg.GlobalArg("a", np.int32, "n"), pg.GlobalArg("out", np.int32, "n"), "..."],
        name="classify",
    )
    a = np.random.default_rng(n).integers(-2, 3, n).astype(np.int32)
    given = {"a": a, "out": np.zeros(n, np.int32), "n": n}
    _, (out,) = knl.executor(device).run(None, None, {k: v for k, v in given.items() if k != "out"})
    np.testing.assert_array_equal(out, classify(n, a))
    np.testing.assert_array_equal(interpret(knl, given).arrays["out"], out)


@pytest.mark.parametrize("n", SIZES)
def test_loops_of_blocks_against_numpy(n: int) -> None:
    """What stands behind an inner 'for' is executed once for each row, with the last value."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<5 }"],
        """
        for i
            <> last = 0.5  {id=start}
            for j
                last = 2*last + a[i, j]  {id=step, dep=start}
            end
            out[i] = last  {dep=step}
        end
        """,
        [pg.GlobalArg("a", np.float64, "n, 5"), "..."],
        name="horner",
    )
    assert knl.instructions[2].within_inames == {"i"}
    a = np.random.default_rng(n).standard_normal((n, 5))
    _, (out,) = knl(a=a)
    expected = np.full(n, 0.5)
    for j in range(5):
        expected = 2 * expected + a[:, j]
    np.testing.assert_allclose(out, expected, rtol=1e-14)
    given = {"a": a, "out": np.zeros(n), "n": n}
    np.testing.assert_allclose(interpret(knl, given).arrays["out"], expected, rtol=1e-14)


def test_for_takes_over_no_loops_of_writers() -> None:
    domains = "{ [i, j]: 0<=i<n and 0<=j<4 }"
    inside = pg.make_kernel(domains, "<> t = b[j]\nfor i\n a[i] = t\nend")
    assert inside.instructions[1].within_inames == {"i"}
    assert inside.instructions[1].depends_on == {"insn"}
    outside = pg.make_kernel(domains, "<> t = b[j]\n a[i, j] = t")
    assert outside.instructions[1].within_inames == {"i", "j"}


def test_for_adds_what_is_mentioned() -> None:
    knl = pg.make_kernel("{ [i, j]: 0<=i,j<4 }", "for i\n a[i, j] = 1\nend")
    assert knl.instructions[0].within_inames == {"i", "j"}


def test_with_says_it_for_all_inside() -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }",
        """
        z[0] = 1  {id=begin}
        with {dep=begin, tags=phase:big, id_prefix=load, if=n > 1}
            a[i] = 1  {inames=i}
            with {tags=inner, id_prefix=store, priority=2}
                b[i] = 2  {dep=load}
                c[i] = 3  {id=own, priority=-1, if=i > 2}
            end
        end
        """,
    )
    begin, load, store, own = knl.instructions
    assert [i.id for i in knl.instructions] == ["begin", "load", "store", "own"]
    assert load.depends_on == {"begin"}
    assert store.depends_on == {"begin", "load"}
    assert own.depends_on == {"begin"}
    assert sorted(load.tags) == ["big", "phase"]
    assert sorted(store.tags) == ["big", "inner", "phase"]
    assert (load.priority, store.priority, own.priority) == (0, 2, -1)
    assert conditions(knl, "own") == ["n > 1", "i > 2"]
    assert begin.tags == frozenset()
    assert pg.parse_kernel(str(knl)) == knl


def test_blocks_reach_over_a_list() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", ["if i > 1", "a[i] = 1", "end", "b[i] = 2"])
    assert [len(i.predicates) for i in knl.instructions] == [1, 0]


def test_words_may_be_variables() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "end[i] = 1\nwith[i] += 2\n<> elif = 3\nb[i] = elif")
    assert {"end", "with", "elif"} <= set(knl.variables)


def test_an_instruction_that_is_no_text_stands_in_no_block() -> None:
    (insn,) = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1").instructions
    with pytest.raises(InvalidArgument, match="line 1 opened, 'for i'"):
        pg.make_kernel("{ [i]: 0<=i<n }", ["for i", insn, "end"])


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        ("if i > 2\n a[i] = 1", "line 1: this block is never closed", "'end'"),
        ("for i\nif i > 1\n a[i] = 1\nend", "line 1: this block is never closed", "'end'"),
        ("a[i] = 1\nend", "line 2: 'end' without a block", "leave this one out"),
        ("else\na[i] = 1\nend", "line 1: 'else' without a block", "'if'"),
        ("elif i\na[i] = 1\nend", "line 1: 'elif' without a block", "'if'"),
        ("if i\na[i]=1\nelse\na[i]=2\nelif n\na[i]=3\nend", "line 5: 'elif' after 'else'", "last"),
        ("if i\na[i]=1\nelse\na[i]=2\nelse\na[i]=3\nend", "line 5: 'else' after 'else'", "last"),
        ("for i\na[i]=1\nelse\na[i]=2\nend", "line 3: 'else' in a block that is no 'if'", "'end'"),
        ("if i\na[i]=1\nelse if n\na[i]=2\nend", "found 'if' where the end was expected", "'elif'"),
        ("if i > 2:\na[i]=1\nend", "found ':' where", "without a colon"),
        ("for i in n\na[i]=1\nend", "found 'in' where", None),
        ("for i, i\na[i]=1\nend", "names an iname twice", "once"),
        ("with {id=a}\na[i]=1\nend", "cannot give one id", "id_prefix="),
        ("with dep=a\na[i]=1\nend", "found 'dep' where '{' was expected", None),
        ("if\na[i]=1\nend", "found the end where", None),
        ("a[i]=1 {id=b, id_prefix=c}", "id= or an id_prefix=, not both", "leave one out"),
        ("a[i]=1 {nosync=b@grid}", "names no scope", "there are"),
        ("a[i]=1 {priority=high}", "found 'high' where", None),
    ],
)
def test_slips(text: str, what: str, remedy: str | None) -> None:
    with pytest.raises(MalformedInstruction) as caught:
        pg.make_kernel("{ [i]: 0<=i<n }", text)
    assert what in caught.value.what
    assert remedy is None or remedy in str(caught.value.remedy)
    assert "^" in str(caught.value.excerpt)


# --- conditions that the block changes


def test_a_condition_is_not_asked_again_after_it_was_changed() -> None:
    text = """
    if a[i] < 0
        a[i] = 0
        b[i] = 1
    end
    """
    with pytest.raises(ConditionChanges, match=r"condition 'a\[i\] < 0' of a block") as caught:
        pg.make_kernel("{ [i]: 0<=i<n }", text)
    assert "b[i] = 1" in str(caught.value.excerpt)
    assert "<> c = a[i] < 0" in str(caught.value.remedy)
    with pytest.raises(ConditionChanges):
        pg.make_kernel("{ [i]: 0<=i<n }", "if a[i]\na[i] = 0\nelse\nb[i] = 1\nend")
    with pytest.raises(ConditionChanges):
        pg.make_kernel(
            "{ [i]: 0<=i<n }", "f(x) := a[x] > 0\nif f(i)\nif n > 2\na[i] = 0\nend\nb[i] = 1\nend"
        )


def test_what_the_remedy_says_works() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        <> c = a[i] < 0  {dep=*}
        if c
            a[i] = 0
            b[i] = 1
        else
            b[i] = 2
        end
        """,
        name="clamped",
    )
    for n in SIZES:
        a = np.random.default_rng(n).standard_normal(n)
        given = a.copy()
        _, (_, b) = knl(a=given, b=np.empty(n))
        np.testing.assert_array_equal(given, np.maximum(a, 0))
        np.testing.assert_array_equal(b, np.where(a < 0, 1, 2))


@pytest.mark.parametrize(
    "text",
    [
        "if a[i] > 0\n a[i] = 1\nend",  # nobody asks again
        "if a[i] > 0\n b[i] = 2  {id=b, dep=*}\n a[i] = 1  {dep=b}\nend",  # the change comes last
        "if a[i] > 0\n a[i + 1] = 1\n b[i] = 2\n end",  # elements of its own
        "if a[2*i] > 0\n a[2*i + 1] = 1\n b[i] = 2\n end",
    ],
)
def test_harmless_changes(text: str) -> None:
    pg.make_kernel("{ [i]: 0<=i<n }", text, assumptions="n >= 1")
