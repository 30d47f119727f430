"""Conditions one of which holds where the other does not are written with ``else``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg

LINE = "{ [i]: 0<=i<n }"
X = np.array([-1.5, 0, 2, 0, 5, -3, np.nan])


def body(knl: pg.Kernel, target: str = "c", **dtypes: Any) -> list[str]:
    """Return the lines of the source inside of the loop over i."""
    lines = str(pg.generate_code(pg.add_dtypes(knl, dtypes), target)).splitlines()
    at = next(n for n, line in enumerate(lines) if line.strip().startswith("for (int i ="))
    return [line[8:] for line in lines[at + 1 : -1] if line.startswith(" " * 8)]


def results(knl: pg.Kernel, target: str, **given: Any) -> dict[str, Any]:
    """Return the outputs of a kernel by name."""
    outputs = pg.set_options(knl, return_dict=True).executor(target)(**given)[1]
    return {str(name): array for name, array in outputs.items()}


SIGNS = """
if a[i] < 0
    o[i] = 1
elif a[i] == 0
    o[i] = 2
    p[i] = 3
elif a[i] > 4
    o[i] = 3
else
    o[i] = 4
end
"""


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_a_chain(target: str) -> None:
    knl = pg.make_kernel(LINE, SIGNS, [pg.GlobalArg("p", np.int32, "n"), "..."])
    assert body(knl, target, a=np.float64) == [
        "if (a[i] < 0.0) {",
        "    o[i] = 1;",
        "} else if (a[i] == 0.0) {",
        "    o[i] = 2;",
        "    p[i] = 3;",
        "} else if (a[i] > 4.0) {",
        "    o[i] = 3;",
        "} else {",
        "    o[i] = 4;",
        "}",
    ]
    found = results(knl, target, a=X, p=np.zeros(7, np.int32))
    np.testing.assert_array_equal(found["o"], [1, 2, 4, 2, 3, 1, 4])
    np.testing.assert_array_equal(found["p"], [0, 3, 0, 3, 0, 0, 0])


def test_one_line_each_needs_no_braces() -> None:
    knl = pg.make_kernel(LINE, "<> c = a[i] > 0\nif not c\no[i] = 1\nelse\no[i] = 2\nend")
    assert body(knl, a=np.float64)[1:] == ["if (!c)", "    o[i] = 1;", "else", "    o[i] = 2;"]
    for target in ("c", "opencl"):
        np.testing.assert_array_equal(results(knl, target, a=X)["o"], np.where(X > 0, 2, 1))


def test_bounds_that_exclude_each_other() -> None:
    text = "for j\nif i + 1 < m\nb[i, j] = 1\nelse\nb[i, j] = 2\nend\nend"
    data = [pg.GlobalArg("b", np.int32, "n, 3"), pg.ValueArg("m", np.int32), "..."]
    knl = pg.make_kernel("{ [i, j]: 0<=i<n and 0<=j<3 }", text, data, loop_priority="i, j")
    lines = [line.strip() for line in body(knl)]
    assert lines.count("else") == 1
    assert sum("if (" in line for line in lines) == 1
    for target in ("c", "opencl"):
        b = results(knl, target, b=np.zeros((4, 3), np.int32), m=3)["b"]
        np.testing.assert_array_equal(b, np.repeat([[1], [1], [2], [2]], 3, axis=1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # what the first one changes, the second one asks for anew
        ("o[i] = o[i] - 1 {if=o[i] > 0, id=x}\no[i] = 2 {if=not o[i] > 0, dep=x}", [2, 2, 1, 2]),
        # and these do not exclude each other
        ("o[i] = 5 {if=o[i] > 0, id=x}\np[i] = 2 {if=o[i] <= 0, dep=x}", [0, 5, 5, 5]),
    ],
)
def test_what_is_no_else(text: str, expected: list[int]) -> None:
    data = [pg.GlobalArg(name, np.int64, "n") for name in "op"]
    knl = pg.make_kernel(LINE, text, [*data, "..."] if "p[" in text else [data[0], "..."])
    assert not any("else" in line for line in body(knl))
    given = {"o": np.array([0, 1, 2, 3]), "p": np.zeros(4, int)}
    if "p[" not in text:
        del given["p"]
    np.testing.assert_array_equal(results(knl, "c", **given)["o"], expected)


def test_not_a_number_is_in_no_branch_but_else() -> None:
    text = "if a[i] < 1\no[i] = 1\nend\nif a[i] >= 1\no[i] = 2\nend"
    knl = pg.make_kernel(LINE, text, [pg.GlobalArg("o", np.int64, "n"), "..."])
    assert not any("else" in line for line in body(knl, a=np.float64))


def test_barriers_stay_where_they_are() -> None:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<16 }", "{ [k]: 0<=k<16 }"],
        """
        if n > 3
            t[i] = a[i]  {id=t}
            b[k] = t[15 - k]  {dep=t}
        else
            b[k] = 0  {id=zero}
        end
        """,
        [
            pg.TemporaryVariable("t", np.float32, (16,), pg.AddressSpace.LOCAL),
            *[pg.GlobalArg(name, np.float32, (16,)) for name in "ab"],
            pg.ValueArg("n", np.int32),
        ],
    )
    knl = pg.tag_inames(knl, {"i": "l.0", "k": "l.0"})
    lines = str(pg.generate_code(knl, "opencl")).splitlines()
    assert [line for line in lines if "barrier(" in line] == ["    barrier(CLK_LOCAL_MEM_FENCE);"]
    assert [line for line in lines if "else" in line] == ["    else"]
    a = np.arange(16, dtype=np.float32)
    for n, expected in ((4, a[::-1]), (3, 0 * a)):
        found = results(knl, "opencl", a=a, b=np.ones_like(a), n=n)
        np.testing.assert_array_equal(found["b"], expected)


# --- quotients of what extents say


def test_division_of_a_size_that_an_extent_bounds() -> None:
    knl = pg.make_kernel(
        LINE, "u[i + 1] = u[i] + 1", [pg.GlobalArg("u", np.float32, "n + 1"), "..."]
    )
    knl = pg.prioritize_loops(pg.split_iname(knl, "i", 4), "i_outer, i_inner")
    for target in ("c", "opencl"):
        source = str(pg.generate_code(knl, target))
        assert "i_outer < (n + 3) / 4" in source
        assert "floor_div" not in source
        for n in (0, 1, 7, 8):
            u = knl.executor(target)(u=np.zeros(n + 1, np.float32))[1][0]
            np.testing.assert_array_equal(u, np.arange(n + 1))


def test_division_of_a_size_that_none_does() -> None:
    data = [pg.GlobalArg("u", np.float32, "n + 5"), pg.ValueArg("n", np.int32)]
    knl = pg.split_iname(pg.make_kernel("{ [i]: 0<=i<n+2 }", "u[i] = 1", data), "i", 2)
    knl = pg.prioritize_loops(knl, "i_outer, i_inner")
    assert "floor_div" in str(pg.generate_code(knl, "c"))
    for n in (-5, -2, -1, 0, 3):
        u = knl(u=np.zeros(n + 5, np.float32))[1][0]
        np.testing.assert_array_equal(u, np.arange(n + 5) < n + 2)


MORE = """
if a[i] < 0
    o[i] = 1
elif a[i] == 0
    o[i] = 2
end
if i > 3
    p[i] = 3
end
if a[i] > 1 and i <= 3
    p[i] = 4
end
"""


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_one_of_several_conditions(target: str) -> None:
    knl = pg.make_kernel(
        LINE, MORE, [pg.GlobalArg("p, o", np.int32, "n"), "..."], seq_dependencies=True
    )
    assert body(knl, target, a=np.float64) == [
        "if (a[i] < 0.0)",
        "    o[i] = 1;",
        "else if (a[i] == 0.0)",
        "    o[i] = 2;",
        "if (i > 3)",
        "    p[i] = 3;",
        "else if (a[i] > 1.0)",
        "    p[i] = 4;",
    ]
    found = results(knl, target, a=X, o=np.zeros(7, np.int32), p=np.zeros(7, np.int32))
    np.testing.assert_array_equal(found["o"], [1, 2, 0, 2, 0, 1, 0])
    np.testing.assert_array_equal(found["p"], [0, 0, 4, 0, 3, 3, 3])
