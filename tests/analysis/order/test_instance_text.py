"""Pairs of instances as text."""

from __future__ import annotations

import islpy as isl
import pytest

from polygen.analysis.order.instance_text import shown_pair


@pytest.mark.parametrize(
    ("relation", "shown"),
    [
        ("{ s[i] -> u[k] : k = i + 1 }", "s[i] -> u[i + 1]"),
        ("{ s[i] -> u[k] : k = 2*i }", "s[i] -> u[2*i]"),
        ("{ s[i] -> u[k] : i = 2*k }", "s[2*k] -> u[k]"),
        ("{ s[i] -> u[k] : i = 2*k + 1 }", "s[2*k + 1] -> u[k]"),
        ("{ s[i] -> u[k] }", "s[i] -> u[k]"),
        ("{ s[i] -> u[k] : k = 3 }", "s[i] -> u[3]"),
        ("{ s[i] -> u[k] : i = 3 and k = 4 }", "s[3] -> u[4]"),
        ("{ s[i] -> u[] : i = 0 }", "s[0] -> u"),
        ("{ s[] -> u[k] }", "s -> u[k]"),
        ("[n] -> { s[i] -> u[k] : k = n - 1 - i }", "s[i] -> u[n - 1 - i]"),
        ("[n] -> { s[i] -> u[k] : k + i = n and i < k }", "s[i] -> u[n - i]"),
        ("{ s[i, j] -> u[k, l] : k = j and l = i - j }", "s[i, j] -> u[j, i - j]"),
        ("{ s[i, j] -> u[k, l] : 2*k + l = i and k = j }", "s[i, j] -> u[j, i - 2*j]"),
        ("{ s[i, j] -> u[k] : 2*k = i + j }", "s[i, 2*k - i] -> u[k]"),
        # An equation with a factor in common after another is solved.
        ("{ s[i, j] -> u[k, l] : k = l and 2*i = k + l + 2 }", "s[i, j] -> u[i - 1, i - 1]"),
        # What is divided says nothing.
        ("{ s[i] -> u[k] : (i + k) mod 2 = 0 }", "s[i] -> u[k]"),
        ("{ s[i] -> u[k] : k = i + 1 and i mod 2 = 0 }", "s[i] -> u[i + 1]"),
        ("{ s[i] -> u[k] : 2*k = 3*i }", "s[i] -> u[k]"),
    ],
)
def test_pairs(relation: str, shown: str) -> None:
    assert shown_pair(isl.Map(relation)) == shown
