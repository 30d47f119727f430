"""Arrays that are declared or used wrongly are refused, with the reason."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import polygen as pg
from polygen import errors as e


class Wrong(NamedTuple):
    """A program that is refused.

    Attributes:
        instruction: what is computed, over ``{ [i]: 0<=i<4 }``.
        variable: how the variable is declared: the class, and its arguments.
        error: the class, exactly.
        why: a part of the reason.
        marked: a part of the line that is shown, if one is.
    """

    instruction: str
    variable: tuple[type, dict[str, Any]]
    error: type[pg.UserError]
    why: str
    marked: str = ""


FOUR = np.arange(4.0)


def table(initializer: Any = FOUR, **more: Any) -> tuple[type, dict[str, Any]]:
    return pg.TemporaryVariable, {"initializer": initializer, "read_only": True, **more}


def starting(initializer: Any, **more: Any) -> tuple[type, dict[str, Any]]:
    return pg.TemporaryVariable, {"initializer": initializer, **more}


TABLES = [
    Wrong("w[i] = 2", table(), e.MalformedKernel, "writes 'w', a table of constants", "w[i] = 2"),
    Wrong("w[i] += a[i]", table(), e.MalformedKernel, "writes 'w', a table", "w[i] = w[i]"),
    Wrong("w[i] += 1 {atomic}", table(), e.MalformedKernel, "'w', a table", "w[i] = w[i]"),
    Wrong("a[i], w[i] = 1, 2", table(), e.MalformedKernel, "writes 'w', a table", "a[i], w[i]"),
    Wrong(
        '... code(i) "w[i] = 1;" writes(w)', table(), e.MalformedKernel, "'w', a table", "w[i] = 1"
    ),
    Wrong("a[i] = w", table(), e.MalformedKernel, "'w' with 0 subscripts; it has 1", "= w"),
    Wrong("a[i] = w[i, 0]", table(), e.MalformedKernel, "with 2 subscripts; it has 1", "w[i, 0]"),
    Wrong("a[i] = w[i + 1]", table(), e.OutOfBounds, "w[4]", "w[i + 1]"),
    Wrong("a[i] = w[i - 1]", table(), e.OutOfBounds, "w[-1]", "w[i - 1]"),
    Wrong("a[i] = w[i]", table(dtype="float32"), e.InvalidArgument, "of type float32, and its"),
    Wrong("a[i] = w[i]", table(shape=5), e.InvalidArgument, "the shape (5), and its initializer"),
    Wrong("a[i] = w[i]", table(shape=(2, 2)), e.InvalidArgument, "has the shape (2, 2), and"),
    Wrong("a[i] = w[i]", table(shape="n"), e.InvalidArgument, "has the shape (n), and"),
    Wrong("a[i] = w[i]", table(np.zeros(0)), e.InvalidArgument, "with no elements"),
    Wrong("a[i] = w[i]", table(np.zeros((3, 0))), e.InvalidArgument, "with no elements"),
    Wrong("a[i] = w[i]", table(np.float64(1)), e.MalformedKernel, "1 subscripts; it has 0", "w[i]"),
    Wrong("w = a[i]", table(np.float64(1)), e.MalformedKernel, "writes 'w', a table", "w = a[i]"),
    Wrong("a[i] = w[i]", table([1, 2, 3, 4]), e.InvalidArgument, "with [1, 2, 3, 4]"),
    Wrong("a[i] = w[i]", table("1, 2"), e.InvalidArgument, "initialized with '1, 2'"),
    Wrong("a[i] = w[i]", table(3.5), e.InvalidArgument, "initialized with 3.5"),
    Wrong("a[i] = w[i]", table(np.array(["a"])), e.InvalidArgument, "has elements of type"),
    Wrong("a[i] = w[i]", table(np.array([None])), e.InvalidArgument, "has elements of type"),
    Wrong(
        "a[i] = w[i]",
        table(address_space=pg.AddressSpace.LOCAL),
        e.InvalidArgument,
        "is read-only, and local",
    ),
    Wrong("a[i] = w[i]", starting(FOUR[:3]), e.OutOfBounds, "w[3]", "w[i]"),
    Wrong("a[i] = w[i]", starting(FOUR, dtype="int8"), e.InvalidArgument, "of type int8, and its"),
    Wrong("a[i] = w[i]", starting(FOUR, shape=(4, 4)), e.InvalidArgument, "has the shape (4, 4)"),
    Wrong("a[i] = w[i]", starting(np.zeros(0)), e.InvalidArgument, "with no elements"),
    Wrong("a[i] = w[i]", starting([1, 2]), e.InvalidArgument, "initialized with [1, 2]"),
    *(
        Wrong(
            "a[i] = w[i]",
            (pg.TemporaryVariable, {"shape": 4, "address_space": space}),
            e.InvalidArgument,
            f"'w' is declared in {space!r}, which is no address space",
        )
        for space in ("local", None, 3, pg.AddressSpace)
    ),
    Wrong("a[i] = w[i, 0]", starting(FOUR), e.MalformedKernel, "2 subscripts; it has 1", "w[i, 0]"),
    Wrong("a[i] = w[i]", table(None), e.InvalidArgument, "is read-only, and has no elements"),
    Wrong("<> w = a[i]", table(), e.NameTaken, "'w' is declared here and in kernel_data", "<> w"),
]

GIVEN = (pg.ConstantArg, {"shape": "4"})

CONSTANTS = [
    Wrong("w[i] = 2", GIVEN, e.MalformedKernel, "writes 'w', an argument in constant", "w[i] = 2"),
    Wrong("w[i] *= a[i]", GIVEN, e.MalformedKernel, "'w', an argument in constant", "w[i] = w"),
    Wrong("w[i] += 1 {atomic}", GIVEN, e.MalformedKernel, "writes 'w', an argument in", "w[i] = w"),
    Wrong("w[i], a[i] = 1, 2", GIVEN, e.MalformedKernel, "writes 'w', an argument", "w[i], a[i]"),
    Wrong(
        '... code(i) "w[i] = 1;" writes(w)', GIVEN, e.MalformedKernel, "'w', an argument", "w[i] ="
    ),
    Wrong("w[i] = 2 {if=a[i] > 0}", GIVEN, e.MalformedKernel, "writes 'w', an arg", "w[i] = 2"),
    Wrong("a[i] = w[i, i]", GIVEN, e.MalformedKernel, "2 subscripts; it has 1", "w[i, i]"),
    Wrong("a[i] = w[2*i]", GIVEN, e.OutOfBounds, "reads w[4]", "w[2*i]"),
    Wrong("<> w = a[i]", GIVEN, e.NameTaken, "'w' is declared here and in kernel_data", "<> w"),
    Wrong(
        "a[i] = w[i]",
        (pg.ConstantArg, {"shape": "4", "may_alias": True}),
        e.InvalidArgument,
        "may_alias=True says that it may be changed",
    ),
    Wrong(
        "a[i] = w[i]",
        (pg.ConstantArg, {"shape": "4", "strides": "1, 4"}),
        e.MalformedLayout,
        "has the shape (4), and tags or strides for 2 axes",
    ),
]
IMAGE = (pg.ImageArg, {"dtype": "float32", "shape": "4, 4"})


def image(**more: Any) -> tuple[type, dict[str, Any]]:
    return pg.ImageArg, {"shape": "4, 4", **more}


IMAGES = [
    Wrong("w[i, i] = 2", IMAGE, e.MalformedKernel, "writes 'w', an image", "w[i, i] = 2"),
    Wrong("w[i, i] += a[i]", IMAGE, e.MalformedKernel, "writes 'w', an image", "w[i, i] = w"),
    Wrong("w[i, i] += 1 {atomic}", IMAGE, e.MalformedKernel, "writes 'w', an image", "w[i, i]"),
    Wrong("a[i], w[0, i] = 1, 2", IMAGE, e.MalformedKernel, "writes 'w', an image", "a[i], w"),
    Wrong("a[i] = w[i]", IMAGE, e.MalformedKernel, "1 subscripts; it has 2", "w[i]"),
    Wrong("a[i] = w[i, 0, 0]", IMAGE, e.MalformedKernel, "3 subscripts; it has 2", "w[i, 0, 0]"),
    Wrong("a[i] = w", IMAGE, e.MalformedKernel, "with 0 subscripts; it has 2", "= w"),
    Wrong("a[i] = w[i, i + 1]", IMAGE, e.OutOfBounds, "reads w[3, 4]", "w[i, i + 1]"),
    Wrong("a[i] = w[i - 1, 0]", IMAGE, e.OutOfBounds, "reads w[-1, 0]", "w[i - 1, 0]"),
    Wrong("<> w = a[i]", IMAGE, e.NameTaken, "'w' is declared here and in kernel_data", "<> w"),
    Wrong("a[i] = w[i]", image(shape="4"), e.MalformedKernel, "'w' has 1 axis: images have two"),
    Wrong("a[i] = w[i, 0, 0, 0]", image(shape=(4, 4, 4, 4)), e.MalformedKernel, "has 4 axes"),
    Wrong("a[i] = w[i]", (pg.ImageArg, {}), e.MalformedKernel, "'w' has 1 axis: images have two"),
    Wrong("a[i] = w[i, 0]", image(strides="1, 4"), e.InvalidArgument, "declared with a layout"),
    Wrong("a[i] = w[i, 0]", image(dim_tags="N0, N1"), e.InvalidArgument, "with a layout"),
    Wrong("a[i] = w[i, 0]", image(offset=1), e.InvalidArgument, "declared with a layout"),
    Wrong("a[i] = w[i, 0]", image(may_alias=True), e.InvalidArgument, "or may_alias=True"),
    Wrong("a[i] = w[i, 0]", image(dtype="picture"), e.InvalidArgument, "'picture' is no element"),
]
PROGRAMS = TABLES + CONSTANTS + IMAGES


@pytest.mark.parametrize("wrong", PROGRAMS, ids=lambda w: f"{w.instruction}: {w.why}")
def test_rejected(wrong: Wrong) -> None:
    kind, arguments = wrong.variable
    with pytest.raises(wrong.error) as caught:
        pg.make_kernel("{ [i]: 0<=i<4 }", wrong.instruction, [kind("w", **arguments), "..."])
    assert type(caught.value) is wrong.error
    assert wrong.why in caught.value.what
    assert wrong.marked in (caught.value.excerpt or "")
    assert caught.value.where is not None


TABLE_LINES = [
    ("[1, 2, 3]", "these are no elements of type int32 in this shape"),
    ("[1, 2.5]", "these are no elements of type int32 in this shape"),
    ("[1, x]", "these are no elements of type int32 in this shape"),
    ("[1, 99999999999]", "these are no elements of type int32 in this shape"),
    ("[]", "these are no elements of type int32 in this shape"),
    ("1, 2", "found '1'"),
    ("[1, 2", ""),
]


@pytest.mark.parametrize(("elements", "why"), TABLE_LINES)
def test_rejected_text(elements: str, why: str) -> None:
    given = pg.TemporaryVariable("w", initializer=np.array([1, 2], np.int32), read_only=True)
    text = str(pg.make_kernel("{ [i]: 0<=i<2 }", "a[i] = w[i]", [given, "..."]))
    assert "initializer: [1, 2]" in text
    with pytest.raises(e.MalformedText) as caught:
        pg.parse_kernel(text.replace("[1, 2]", elements))
    assert why in caught.value.what
    assert "w: type: int32" in (caught.value.excerpt or "")
