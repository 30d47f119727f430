"""Layouts that are no layouts, or do not fit, are refused with the reason."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e


class Wrong(NamedTuple):
    """A layout that is refused.

    Attributes:
        layout: how the array ``a`` is declared, beside its name.
        error: the class, exactly.
        why: a part of the reason.
        at: what the marker points to, and what is behind it; nothing if there is none.
        instruction: what is computed, over ``{ [i, j]: 0<=i<n and 0<=j<4 }``.
        kind: the class of the array.
        others: further variables.
    """

    layout: dict[str, Any]
    error: type[pg.UserError]
    why: str
    at: str = ""
    instruction: str = "a[i, j] = b[i, j]"
    kind: type = pg.GlobalArg
    others: tuple[Any, ...] = ()


def tags(text: Any, **more: Any) -> dict[str, Any]:
    return {"shape": "n, 4", "dim_tags": text, **more}


TEXT = [
    Wrong(tags("N0, X"), e.MalformedTag, "'X' is no tag of an axis", "X"),
    Wrong(tags("N0, N1,"), e.MalformedTag, "'' is no tag of an axis", ""),
    Wrong(tags("N0, 1"), e.MalformedTag, "'1' is no tag of an axis", "1"),
    Wrong(tags("N0, N10"), e.MalformedTag, "'N10' is no tag", "N10"),
    Wrong(tags("n0, n1"), e.MalformedTag, "'n0' is no tag", "n0"),
    Wrong(tags("N0, N1(8)"), e.MalformedTag, "'N1(8)' is no tag", "N1(8)"),
    Wrong(tags("N1, N0(pad_to=m)"), e.MalformedTag, "'N0(pad_to=m)' is no tag", "N0(pad_to=m)"),
    Wrong(tags("N1, N0(pad_to=0)"), e.MalformedTag, "an axis is padded to 0", "N0(pad_to=0)"),
    Wrong(tags("N0, stride:"), e.MalformedTag, "'stride:' is no tag", "stride:"),
    Wrong(tags("N0, stride:2*"), e.MalformedExpression, "found the end"),
    Wrong(tags("C, F"), e.MalformedTag, "give no order of the axes", "C, F"),
    Wrong(tags("N0, C"), e.MalformedTag, "give no order of the axes", "N0, C"),
    Wrong(tags("N0, N2"), e.MalformedTag, "give no order of the axes", "N0, N2"),
    Wrong(tags("N1, N1"), e.MalformedTag, "give no order of the axes", "N1, N1"),
    Wrong(tags("N1, vec"), e.MalformedTag, "give no order of the axes", "N1, vec"),
    Wrong(tags("x:N1, N0"), e.MalformedTag, "some axes have names, and others have none", "x:N1"),
    Wrong(tags("x:N1, x:N0"), e.InvalidArgument, "'x' is there twice"),
    Wrong(tags("x:N1, y:N0", dim_names="x, z"), e.MalformedTag, "have other names in dim_names: x"),
    Wrong(tags(7), e.InvalidArgument, "the dim_tags of 'a' are given as 7"),
    Wrong(tags(("N0", 1)), e.InvalidArgument, "the dim_tags of 'a' are given as ('N0', 1)"),
]
GIVEN = [
    Wrong(tags("N0, N1", order="F"), e.InvalidArgument, "said twice: with dim_tags and order="),
    Wrong(tags("N0, N1", strides="1, n"), e.InvalidArgument, "with dim_tags and strides="),
    Wrong(tags(None, order="A"), e.InvalidArgument, "the order of 'a' is given as 'A'"),
    Wrong(tags(None, order=3), e.InvalidArgument, "the order of 'a' is given as 3"),
    Wrong(tags(None, strides=2.5), e.InvalidArgument, "the strides of 'a' is given as 2.5"),
    Wrong(tags(None, strides="1, i"), e.MalformedKernel, "mentions 'i', which is no scalar"),
    Wrong(tags(None, offset="j"), e.MalformedKernel, "mentions 'j', which is no scalar"),
    Wrong(tags(None, offset=(1, 2)), e.InvalidArgument, "the offset of 'a' is given as (1, 2)"),
    Wrong(tags(None, offset=-1), e.MalformedLayout, "'a' has the offset -1"),
    Wrong(tags(None, dim_names="x"), e.MalformedLayout, "and names for 1 axes"),
    Wrong(tags(None, dim_names="x, 2"), e.InvalidArgument, "'2' is no name"),
    Wrong(tags(None, dim_names=("x", 2)), e.InvalidArgument, "'2' is no name"),
]
FIT = [
    Wrong(tags("N0, N1, N2"), e.MalformedLayout, "the shape (n, 4), and tags or strides for 3"),
    Wrong(tags("vec, N0"), e.MalformedLayout, "the extent n along an axis tagged vec"),
    Wrong(tags("sep, N0"), e.MalformedLayout, "the extent n along an axis tagged sep"),
    Wrong(tags("vec, vec", shape="4, 4"), e.MalformedLayout, "two axes that are tagged vec"),
    Wrong(tags("N0, vec", shape="n, 5"), e.MalformedLayout, "has vectors of 5 components"),
    Wrong(tags("N0, vec", dtype="bool"), e.MalformedLayout, "of numbers of type bool"),
    Wrong(tags("N0, vec", dtype="float16"), e.MalformedLayout, "of numbers of type float16"),
    Wrong(tags("N0, vec", dtype="complex64"), e.MalformedLayout, "of numbers of type complex64"),
    Wrong(tags("stride:6, vec"), e.MalformedLayout, "the stride 6 along axis 0, which is no mult"),
    Wrong(tags("stride:n, vec"), e.MalformedLayout, "the stride n along axis 0, which is no mult"),
    Wrong(tags("N0, vec", offset=2), e.MalformedLayout, "the offset 2, which is no multiple"),
    Wrong(tags("N0, sep", offset=pg.auto), e.MalformedLayout, "they cannot be auto"),
    Wrong(tags("stride:auto, sep"), e.MalformedLayout, "they cannot be auto"),
    Wrong(
        tags("N0, sep", shape="n, 999"),
        e.MalformedLayout,
        "would become 999 arrays",
        instruction="b[i] = a[i, 0]",
    ),
    Wrong(tags("N0, sep"), e.NameTaken, "'a_s2', as something", others=(pg.ValueArg("a_s2"),)),
]
ALIGNMENT = "no power of two from 1 to 4096"
USES = [
    Wrong({"alignment": 48}, e.MalformedLayout, f"the alignment 48, which is {ALIGNMENT}"),
    Wrong({"alignment": 0}, e.MalformedLayout, f"the alignment 0, which is {ALIGNMENT}"),
    Wrong({"alignment": "64"}, e.MalformedLayout, f"the alignment '64', which is {ALIGNMENT}"),
    Wrong({"alignment": True}, e.MalformedLayout, f"the alignment True, which is {ALIGNMENT}"),
    Wrong({"alignment": 8192}, e.MalformedLayout, f"the alignment 8192, which is {ALIGNMENT}"),
    Wrong(
        tags("N0, vec", dtype="float32"),
        e.MalformedLayout,
        "'insn' updates a component atomically",
        instruction="a[i, j] += b[i, j]  {atomic}",
    ),
    Wrong(
        tags("N0, sep", dtype="float32"),
        e.MalformedLayout,
        "the verbatim C of 'insn' mentions it",
        instruction='... code(i, j) "a[i] = 1;" writes(a)',
    ),
    Wrong(
        tags("stride:4, stride:2"),
        e.OverlappingElements,
        "a[0, 2] and a[1, 0] lie in one place",
        "[i, j] a[i, j]",
    ),
    Wrong(tags("stride:n, stride:0"), e.OverlappingElements, "strides are (n, 0)", "[i, j] a"),
    Wrong(tags("stride:auto, stride:0"), e.OverlappingElements, "lie in one place", "[i, j] a"),
]
TEMPORARY: dict[str, Any] = {"kind": pg.TemporaryVariable, "instruction": "a[i, 0] = 1"}
TEMPORARIES = [
    Wrong(
        {"alignment": 64},
        e.MalformedLayout,
        "is a scalar, and has an alignment",
        kind=pg.TemporaryVariable,
        instruction="a = b[i] \n c[i] = a",
    ),
    Wrong(
        {"alignment": 64, "initializer": np.eye(4), "read_only": True},
        e.MalformedLayout,
        "is a constant, and has an alignment",
        kind=pg.TemporaryVariable,
        instruction="b[i] = a[1, 2]",
    ),
    Wrong(tags("N0, sep", shape="4, 4"), e.MalformedLayout, "makes arguments of", **TEMPORARY),
    Wrong(tags("stride:auto, N0", shape="4, 4"), e.MalformedLayout, "tag stride:auto", **TEMPORARY),
    Wrong(tags("stride:n, N0", shape="4, 4"), e.MalformedLayout, "tag stride:n", **TEMPORARY),
    Wrong(tags("stride:-4, N0", shape="4, 4"), e.MalformedLayout, "tag stride:-4", **TEMPORARY),
    Wrong(
        tags("stride:1, stride:2", shape="4, 4"), e.OverlappingElements, "one place", **TEMPORARY
    ),
    Wrong(
        {"initializer": np.eye(4), "read_only": True, "order": "F"},
        e.MalformedLayout,
        "is a table of constants, which is row-major",
        kind=pg.TemporaryVariable,
        instruction="b[i] = a[1, 2]",
    ),
]


@pytest.mark.parametrize("wrong", TEXT + GIVEN + FIT + USES + TEMPORARIES, ids=lambda w: w.why)
def test_rejected(wrong: Wrong) -> None:
    with pytest.raises(wrong.error) as caught:
        pg.make_kernel(
            "{ [i, j]: 0<=i<n and 0<=j<4 }"
            if wrong.kind is pg.GlobalArg
            else "{ [i, j]: 0<=i,j<4 }",
            wrong.instruction,
            [wrong.kind("a", **wrong.layout), *wrong.others, "..."],
        )
    assert type(caught.value) is wrong.error
    assert wrong.why in caught.value.what
    assert caught.value.where is not None
    assert __file__ in str(caught.value.where)
    if wrong.at:
        shown, _, marker = (caught.value.excerpt or "").partition("\n")
        assert wrong.at in shown
        if wrong.error is e.MalformedTag:
            assert shown[marker.index("^") :].startswith(wrong.at)


SUBSCRIPTS = [
    ("N0, vec", "b[i] = a[i, k[i]]", "'a[i, k[i]]' has the subscript 'k[i]'", "component"),
    ("N0, vec", "b[i, j] = a[i, j]", "'a[i, j]' has the subscript 'j'", "component"),
    ("N0, sep", "a[i, 3 - j] = i", "'a[i, 3 - j]' has the subscript '3 - j'", "array"),
    ("N0, sep", "b[i] = a[i, m]", "'a[i, m]' has the subscript 'm'", "array"),
    ("N0, vec", "b[i, j] = 2 {if=a[i, j] > 0}", "'a[i, j]' has the subscript 'j'", "component"),
]


@pytest.mark.parametrize(("layout", "instruction", "why", "which"), SUBSCRIPTS)
@pytest.mark.parametrize("target", ["c", "opencl"])
def test_subscripts_are_constants(
    layout: str, instruction: str, why: str, which: str, target: str
) -> None:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<4 }",
        instruction,
        [pg.GlobalArg("a", "int32", "n, 4", dim_tags=layout), "..."],
        assumptions="0 <= m < 4" if "m" in instruction else "",
        loop_priority="i, j" if "j" in instruction else (),
    )
    known = {name: "int32" for name in ("k",) if name in knl.variables}
    with pytest.raises(e.SubscriptNotConstant) as caught:
        pg.generate_code(pg.add_dtypes(knl, known) if known else knl, target)
    assert why in caught.value.what
    assert f"which {which} that is" in caught.value.what
    assert instruction.partition(" {")[0] in (caught.value.excerpt or "")
    assert __file__ in str(caught.value.where)


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_types_without_vectors(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "b[i] = a[i, 1]",
        [pg.GlobalArg("a", shape="n, 4", dim_tags="N0, vec"), "..."],
    )
    with pytest.raises(e.MalformedLayout, match="vectors of numbers of type complex128"):
        pg.add_dtypes(knl, {"a": np.complex128})
    with pytest.raises(e.TypeNotSupported, match="no vectors of numbers of type 'bool'"):
        knl.executor(target)(a=np.zeros((3, 4), np.bool_))


LINES = [
    ('dim_tags: "N0, N1"', 'dim_tags: "N0, N3"', e.MalformedTag, "give no order"),
    ('dim_tags: "N0, N1"', 'dim_tags: "N0, N1', e.MalformedText, ""),
    ('dim_tags: "N0, N1"', "dim_tags: (N0, N1)", e.MalformedText, "found"),
    ('dim_tags: "N0, N1"', 'dim_tags: "N0"', e.MalformedLayout, "for 1 axes"),
    ('dim_tags: "N0, N1"', 'dim_tags: "N0, stride:z"', e.MalformedKernel, "mentions 'z'"),
    ("offset: 3", "offset: <any>", e.MalformedText, "found"),
    ("offset: 3", "offset: -3", e.MalformedLayout, "the offset -3"),
    ("dim_names: (x, y)", "dim_names: (x, 1)", e.MalformedText, "found '1'"),
    ("dim_names: (x, y)", "dim_names: (x)", e.MalformedLayout, "names for 1 axes"),
]


@pytest.mark.parametrize(("old", "new", "error", "why"), LINES)
def test_rejected_text(old: str, new: str, error: type[pg.UserError], why: str) -> None:
    a = pg.GlobalArg("a", shape="n, 4", dim_tags="x:N0, y:N1", offset=3)
    text = str(pg.make_kernel("{ [i]: 0<=i<n }", "a[i, 1] = a[i, 0]", [a, "n"]))
    assert old in text
    with pytest.raises(error) as caught:
        pg.parse_kernel(text.replace(old, new))
    assert type(caught.value) is error
    assert why in caught.value.what
