"""Reductions over what groups have stored, which become atomic updates by these groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import FinishNotPossible, NotDeterministic, TypeNotFound
from polygen.ir.kernel import Kernel
from polygen.transforms.atomics.atomic_finish import finish_atomically
from tests.oracle.cases import agree_in_arrays, kernel

SIZES = [{"n": n} for n in (0, 1, 7, 17)]


STORED = (
    pg.TemporaryVariable("part, w", np.int64, 3, pg.AddressSpace.GLOBAL),
    pg.GlobalArg("a", np.int64, 12),
    pg.GlobalArg("s", np.int64, 3),
)


def in_parts(
    part: str = "sum(r, a[4*g + r])",
    whole: str = "s[0] = sum(h, part[h])",
    dtype: Any = np.int64,
    *more: str,
    **options: Any,
) -> Kernel:
    """Return a kernel in which each of three groups stores a part, all of which are reduced."""
    lines = [f"part[g] = {part}  {{id=part, dep=*}}", f"{whole}  {{id=s, dep=part}}", *more]
    return kernel(
        "{ [g,r,h,p]: 0<=g,h<3 and 0<=r<4 and 0<=p<3 }",
        "\n".join(lines),
        pg.TemporaryVariable("part", dtype, 3, pg.AddressSpace.GLOBAL),
        pg.GlobalArg("a", dtype, 12),
        pg.GlobalArg("s", dtype, 3),
        **options,
    )


def in_groups(knl: Kernel) -> Kernel:
    return pg.tag_inames(knl, {"g": "g.0"})


def test_what_is_made_of_it() -> None:
    new = finish_atomically(in_parts(), "s")
    assert "part" not in new.variables
    assert "h" not in new.inames
    start, update = new.instruction("s_init"), new.instruction("s")
    assert isinstance(start, pg.Assignment) and isinstance(update, pg.Assignment)
    assert (start.within_inames, start.expression, start.atomicity) == (frozenset(), 0, None)
    assert update.within_inames == {"g"}
    assert update.depends_on == {"s_init"}
    assert update.atomicity is not None
    assert "s[0] = s[0] + sum(r, a[4*g + r])" in str(new)
    assert [i.id for i in new.instructions] == ["s_init", "s"]
    assert pg.parse_kernel(str(new)) == new


REDUCED: dict[str, tuple[str, Any]] = {
    "sum": ("sum", np.sum),
    "product": ("product", np.prod),
    "max": ("max", np.max),
    "min": ("min", np.min),
}


@pytest.mark.parametrize("name", REDUCED)
def test_each_group_counts_once(name: str) -> None:
    text, wanted = REDUCED[name]
    knl = in_parts(f"{text}(r, a[4*g + r])", f"s[0] = {text}(h, part[h])")

    def step(k: Kernel) -> Kernel:
        return pg.tag_inames(finish_atomically(k, "s"), {"g": "g.0"})

    agree_in_arrays(knl, [{}], step)
    a = np.random.default_rng(3).integers(1, 4, 12).astype(np.int64)
    _, (found,) = step(knl).executor("c")(a=a, s=np.full(3, 99, np.int64))
    np.testing.assert_array_equal(found, [wanted(a), 99, 99])


def test_what_comes_after_waits_for_all_groups() -> None:
    knl = in_parts("sum(r, a[4*g + r])", "s[0] = sum(h, part[h])", np.int64,
                   "b[p] = s[0] + p  {id=b, dep=s}")  # fmt: skip
    new = finish_atomically(knl, "s")
    assert new.instruction("b") == knl.instruction("b")
    agree_in_arrays(knl, [{}], lambda k: pg.tag_inames(finish_atomically(k, "s"), {"g": "g.0"}))


def test_several_at_once() -> None:
    knl = kernel(
        "{ [g,h,k,l]: 0<=g,h,k,l<n }",
        """
        u[g] = 2*a[g]        {id=u}
        v[k] = 3*a[k]        {id=v}
        s[0] = sum(h, u[h])  {id=s, dep=u}
        t[0] = max(l, v[l])  {id=t, dep=v}
        """,
        pg.TemporaryVariable("u, v", np.float64, "n", address_space=pg.AddressSpace.GLOBAL),
        pg.GlobalArg("a", np.float64, "n"),
        pg.GlobalArg("s, t", np.float64, 1),
    )
    new = finish_atomically(knl, "s or t")
    assert new.temporaries == ()
    assert finish_atomically(finish_atomically(knl, "t"), "s") == new
    agree_in_arrays(knl, SIZES, lambda k: finish_atomically(k, "s or t"))


@pytest.mark.parametrize(
    "whole",
    [
        "q(x) := part[x]\ns[0] = sum(h, q(h))",
        "s[0] = sum(h, part[2 - h])",
        "s[0] = sum(g, part[g])",
    ],
)
def test_what_reads_the_parts(whole: str) -> None:
    """A rule, in another order, by the same iname: all parts, each once."""
    *rules, last = whole.split("\n")
    lines = [
        *rules,
        "part[g] = sum(r, a[4*g + r])  {id=part, dep=*}",
        f"{last}  {{id=s, dep=part}}",
    ]
    knl = kernel("{ [g,r,h]: 0<=g,h<3 and 0<=r<4 }", "\n".join(lines), *STORED)
    new = finish_atomically(knl, "s")
    assert "part" not in new.variables
    assert new.substitutions == ()
    agree_in_arrays(knl, [{}], lambda _: pg.tag_inames(new, {"g": "g.0"}))


def other(part: str, whole: str, *more: str) -> Kernel:
    """Return a kernel of which something is not as it has to be."""
    lines = [f"{part}  {{id=part, dep=*}}", f"{whole}  {{id=s, dep=part}}", *more]
    domain = "{ [g,r,h,p,k]: 0<=g,h<3 and 0<=r<4 and 0<=p<3 and 0<=k<2 }"
    return kernel(domain, "\n".join(lines), *STORED)


ONE = "part[g] = sum(r, a[4*g + r])"
REFUSED: list[tuple[Kernel, type[pg.UserError], str]] = [
    (in_parts(whole="s[0] = 2*sum(h, part[h])"), FinishNotPossible, "and nothing more"),
    (in_parts(whole="s[0] = part[2]"), FinishNotPossible, "is not one result of a reduction"),
    (in_parts(whole="<int64> t = sum(h, part[h])"), FinishNotPossible, "'t' is not in global mem"),
    (in_parts("s[g] + a[g]"), FinishNotPossible, "'s' is used before, too"),
    (
        in_parts("a[g]", "s[0] = sum(h, part[h])", np.int8),
        FinishNotPossible,
        "it is computed as int(32|64), and stored as int8",
    ),
    (other(ONE, "s[0] = sum(h, 2*part[h])"), FinishNotPossible, "the elements of a temp.* as they"),
    (other(ONE, "s[0] = sum(h, a[h])"), FinishNotPossible, "elements of a temporary as they are"),
    (
        other(ONE, "s[0] = sum(h, part[h])", "b[p] = part[p]  {id=b, dep=part}"),
        FinishNotPossible,
        "'b' reads 'part', too",
    ),
    (
        other(ONE, "q(x) := part[x]\ns[0] = sum(h, q(h))", "b[p] = q(p)  {id=b, dep=part}"),
        FinishNotPossible,
        "'b' reads 'part', too",
    ),
    (
        kernel(
            "{ [g,r,h]: 0<=g,h<3 and 0<=r<4 }",
            f"{ONE}  {{id=first}}\npart[g] = 2*part[g]\ns[0] = sum(h, part[h])  {{id=s}}",
            *STORED,
            seq_dependencies=True,
        ),
        FinishNotPossible,
        "no assignment alone writes 'part'",
    ),
    (
        other("part[g], w[g] = argmax(r, a[4*g + r], r)", "s[0] = sum(h, part[h])"),
        FinishNotPossible,
        "'part' assigns more than 'part'",
    ),
    (
        other(ONE, "s[0] = sum(k, part[k])"),  # not all
        FinishNotPossible,
        "it may not reduce each element of 'part' once",
    ),
    (
        other(ONE, "s[0] = sum((h, k), part[h - h % 2 * k])"),  # some twice
        FinishNotPossible,
        "it may not reduce each element of 'part' once",
    ),
    (
        in_groups(pg.set_options(in_parts(dtype=np.float32), deterministic=True)),
        NotDeterministic,
        "'s'",
    ),
]


@pytest.mark.parametrize(("knl", "kind", "text"), REFUSED)
def test_refused(knl: Kernel, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=text) as caught:
        finish_atomically(knl, "s")
    assert caught.value.remedy


def test_types_have_to_be_known() -> None:
    knl = kernel(
        "{ [g,h]: 0<=g,h<3 }",
        "part[g] = a[g]  {id=part}\ns[0] = sum(h, part[h])  {id=s, dep=part}",
        pg.TemporaryVariable("part", shape=3, address_space=pg.AddressSpace.GLOBAL),
    )
    with pytest.raises(TypeNotFound):
        finish_atomically(knl, "s")
