"""Values as text: the same value comes back, and nothing else does."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from constantdict import constantdict
from pymbolic.primitives import Sum, Variable

from polygen.ir import array, expression
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.layout import Nested
from polygen.ir.value_texts import NotText, ValueTexts, classes_in

TEXTS = ValueTexts([*classes_in([array, expression]), Sum, Variable, Nested])


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1,
        1.0,
        -0.0,
        math.inf,
        2**70,
        "a \u00fc \n",
        1 + 2j,
        (1, True, 1.0, (1, True)),
        frozenset({"a"}),
        {"a": (1, 2), "b": None},
        constantdict({"a": 1}),
        np.dtype("float32"),
        np.float32(0.1),
        AddressSpace.LOCAL,
        Sum((Variable("n"), Variable("n"), 1)),
        GlobalArg("a", np.dtype("int8"), (Variable("n"), 4), (Nested(1), Nested(0, pad_to=4))),
    ],
)
def test_values_come_back(value: Any) -> None:
    found = TEXTS.value(TEXTS.text(value))
    assert type(found) is type(value)
    assert repr(found) == repr(value)
    assert found == value


def test_arrays_come_back_bit_by_bit() -> None:
    data = np.array([[0.0, -0.0, np.nan], [np.inf, 1, 2]])
    found = TEXTS.value(TEXTS.text(data))
    assert found.dtype == data.dtype
    assert found.shape == data.shape
    assert found.tobytes() == data.tobytes()


def test_equal_parts_are_written_once() -> None:
    part = tuple(f"name{i}" for i in range(50))
    one, many = TEXTS.text(part), TEXTS.text(tuple([(*part, i) for i in range(50)]))
    assert len(many) < 12 * len(one)  # and not 50 times: names are numbers there


def test_what_has_no_text_is_refused() -> None:
    with pytest.raises(NotText, match="no text stands for"):
        TEXTS.text((1, object()))
    with pytest.raises(NotText):
        ValueTexts([]).text(Variable("n"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "3",
        "{}",
        '{"classes": [], "values": []}',
        '{"classes": ["constant"], "values": [[1, 2]]}',
        '{"classes": ["tuple"], "values": [[0, 5]]}',
        '{"classes": ["os.system"], "values": [[0, "true"]]}',
        '{"classes": ["array"], "values": [[0, "float64", [3], false, "AAAA"]]}',
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(NotText):
        TEXTS.value(text)


def test_classes_that_were_not_named_are_not_made() -> None:
    text = TEXTS.text(Variable("n"))
    with pytest.raises(NotText):
        ValueTexts([]).value(text)
    content = json.loads(text)
    assert content["classes"] == ["constant", "pymbolic.primitives.Variable"]
