"""polygen.python.liveness."""

from __future__ import annotations

import ast

from polygen.python.liveness import liveness, rebound, stores

BODY = ast.parse("""
s = 0
for i in range(n):
    t = x[i]
    s += t
    if t > u:
        u = t
    w = t
print(w)
for i in range(n):
    w = 1
""").body


def test_what_is_read_later_is_live() -> None:
    found = liveness(BODY, frozenset({"s"}))
    loop = BODY[1]
    carried = found.carried[loop]
    assert {"s", "u", "x"} <= carried
    assert "t" not in carried
    assert "w" in found.after[loop]
    assert "t" not in found.after[loop]
    assert "w" not in found.after[BODY[3]]


def test_a_branch_keeps_what_was_before() -> None:
    (branch,) = ast.parse("if c:\n    y = 1").body
    first = ast.copy_location(ast.Pass(), branch)
    assert liveness([first, branch], frozenset({"y"})).after[first] == {"c", "y"}


def test_an_update_binds_no_name() -> None:
    body = ast.parse("y += 1\nz = 2").body
    assert stores(body) == {"y", "z"}
    assert rebound(body) == {"z"}
