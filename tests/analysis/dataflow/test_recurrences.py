"""Instructions that read what they wrote before."""

from __future__ import annotations

import pytest

import polygen as pg
from polygen.analysis.dataflow.recurrences import is_recurrence


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a[i+1] = a[i] + 1  {id=x}", {"x"}),
        ("a[i] = a[i] + 1  {id=x}", set[str]()),  # what was there before
        ("a[i] = b[i] + 1  {id=x}\na[i] = a[i]*2  {id=y}", set[str]()),
        ("<> s = 0  {id=x}\ns = s + b[j]  {id=y, inames=j}", {"y"}),
        (
            "a[i+1] = b[i]  {id=x}\nb[i+1] = a[i+1]  {id=y}\nc[i] = b[i] {id=z}",
            {"x", "y"},
        ),
        ("a[i] = b[at[i]]  {id=x}\nb[at[i]] = a[i]  {id=y}", set[str]()),  # nobody knows
    ],
)
def test_recurrences(text: str, found: set[str]) -> None:
    sizes = {"a": "n+1", "b": "n+1", "c": "n", "at": "n"}
    arrays = [
        pg.GlobalArg(name, "int32" if name == "at" else "float64", size)
        for name, size in sizes.items()
        if f"{name}[" in text
    ]
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        text,
        [*arrays, "..."],
        seq_dependencies=True,
        silenced_warnings=("UnusedIname",),
    )
    assert {insn.id for insn in knl.instructions if is_recurrence(knl, insn.id)} == found
