"""`set_options`: how a kernel is compiled, called and transformed."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.ir.options import Options
from tests.transforms.refusals import refused

VALUES: dict[str, Any] = {
    "write_code": True,
    "write_wrapper": True,
    "return_dict": True,
    "skip_arg_checks": True,
    "build_options": ["-O1", "-g"],
    "resident_groups": 2,
    "silenced_warnings": ["AmbiguousNesting"],
}
PLAIN: Kernel = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")


@pytest.mark.parametrize("name", VALUES)
def test_each_option(name: str) -> None:
    value = VALUES[name]
    knl = pg.set_options(PLAIN, **{name: value})
    assert pg.parse_kernel(str(knl)) == knl
    expected: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value}
    assert knl.options == replace(Options(), **expected)
    assert pg.set_options(knl, **{name: value}) is knl
    assert pg.set_options(knl, **{name: type(value)()}) == PLAIN
    assert knl.instructions == PLAIN.instructions


def test_refused_options() -> None:
    refused(
        InvalidArgument,
        "no option 'return_dct'.*did you mean 'return_dict'",
        pg.set_options,
        PLAIN,
        return_dct=True,
    )
    refused(
        InvalidArgument,
        "'return_dict' is True or False, not 1",
        pg.set_options,
        PLAIN,
        return_dict=1,
    )
    for wrong in -1, True, "2":
        refused(
            InvalidArgument,
            "'resident_groups' is a number of work groups, or 0, not ",
            pg.set_options,
            PLAIN,
            resident_groups=wrong,
        )
    refused(
        InvalidArgument,
        "'build_options' is a sequence of texts, not '-O1'",
        pg.set_options,
        PLAIN,
        build_options="-O1",
    )
    for wrong in "a\nb", "\0", "\ud800":
        refused(
            InvalidArgument,
            "has a character that no command line can hold",
            pg.set_options,
            PLAIN,
            build_options=["-w", wrong],
        )
    refused(
        InvalidArgument,
        "no warning 'AmbiguousNest'.*did you mean 'AmbiguousNesting'",
        pg.set_options,
        PLAIN,
        silenced_warnings=["AmbiguousNest"],
    )


OTHERS: dict[str, Any] = {
    "allow_reassociation": False,
    "clusters": True,
    "fix_sizes": True,
    "fix_group_sizes": True,
    "vectorize_sums": True,
    "serial_below": 0,
    "force_scan": True,
    "trust_data": True,
    "convert_stores": True,
    "deterministic": True,
    "sub_group_size": 16,
    "contract": "off",
    "allow_tf32": True,
    "check_every": 8,
}


def test_all_options_together() -> None:
    everything = {**VALUES, **OTHERS}
    assert {field.name for field in fields(Options)} == everything.keys()
    knl = pg.set_options(PLAIN, **everything)
    for name, value in everything.items():
        found = getattr(knl.options, name)
        assert found == (tuple(value) if isinstance(value, list) else value)
        assert found != getattr(PLAIN.options, name)
    assert pg.parse_kernel(str(knl)) == knl
    assert pg.replay(PLAIN, knl.history) == knl
    assert pg.set_options(PLAIN) is PLAIN


def test_refused_numbers_of_work_items() -> None:
    text = "'sub_group_size' is 0, a power of two up to 128, or None, not "
    for wrong in -1, 3, 256, True, "32":
        refused(InvalidArgument, text, pg.set_options, PLAIN, sub_group_size=wrong)
    for right in 0, 1, 128, None:
        assert pg.set_options(PLAIN, sub_group_size=right).options.sub_group_size == right


def test_refused_numbers_of_iterations() -> None:
    for wrong in 0, -1, True, "2":
        text = "'check_every' is a number of iterations, not "
        refused(InvalidArgument, text, pg.set_options, PLAIN, check_every=wrong)


def test_results_by_name() -> None:
    a = np.arange(3.0)
    run = pg.set_options(PLAIN, return_dict=True).executor("c")
    _, found = run(a=a)
    assert list(found) == ["out"]
    np.testing.assert_array_equal(found["out"], 2 * a)
