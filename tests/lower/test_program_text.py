"""Loop programs as text."""

import numpy as np

import polygen as pg


def shown(knl: pg.Kernel, target: str) -> list[str]:
    """The lines from LAUNCHES on."""
    lines = str(pg.lower_kernel(knl, target)).splitlines()
    return lines[lines.index("LAUNCHES:") + 1 : -1]


def test_head_and_arguments() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name="twice")
    text = str(pg.lower_kernel(pg.add_dtypes(knl, {"a": np.float32})))
    assert "LOOP PROGRAM: twice\nINDEX TYPE: int32\n" in text
    assert "a: GlobalArg, type: float32, shape: (n)" in text
    assert "n: ValueArg, type: int32" in text


def test_loops_declarations_and_guards() -> None:
    knl = pg.make_kernel(
        "{ [i,k]: 0<=i,k<n }", "y[i] = sum(k, a[i, k]) {id=row, if=i > 3}", name="rows"
    )
    knl = pg.split_iname(pg.add_dtypes(knl, {"a": np.float64}), "i", 8)
    knl = pg.prioritize_loops(knl, "i_outer, i_inner")
    assert shown(knl, "c") == [
        "launch rows(a, n, y):",
        "  for i_outer in [0, (n + 7)//8):",
        "    for i_inner in [0, min(8, n - 8*i_outer)):",
        "      if 8*i_outer + i_inner > 3:",
        "        float64 acc_k = 0",
        "        for k in [0, n):",
        "          acc_k = acc_k + a[(8*i_outer + i_inner)*n + k]  # row_update",
        "        y[8*i_outer + i_inner] = acc_k                    # row",
    ]


def test_grid_and_threads() -> None:
    knl = pg.make_kernel("{ [i]: 1<=i<n }", "out[i] = 2*a[i] {id=s}", name="twice")
    knl = pg.add_dtypes(knl, {"a": np.float32})
    knl = pg.tag_inames(pg.assume(knl, "n >= 2"), {"i": "g.0"})
    launch, axis, body = shown(knl, "opencl")
    assert launch == "launch twice(a, out):"
    assert axis.startswith("  g.0 in [0, n ")
    assert axis.endswith("  # i = g.0 + 1")
    assert body.split("  # ") == ["  out[i] = 2*a[i]".ljust(len(body) - 5), "s"]
    assert shown(knl, "c") == [
        "launch twice(a, n, out):",
        "  for i in [1, n):   # parallel",
        "    out[i] = 2*a[i]  # s",
    ]


def test_barriers_and_local_memory() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<16 }",
        "t[i] = a[i] {id=load}\nout[j] = t[15-j] {id=store}",
        [pg.TemporaryVariable("t", shape=(16,), address_space=pg.AddressSpace.LOCAL), "..."],
        name="reverse",
    )
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": np.float32}), {"i": "l.0", "j": "l.0"})
    text = "\n".join(shown(knl, "opencl"))
    assert "l.0 in [0, 16):" in text
    assert "i = l.0, j = l.0" in text
    assert "local float32 t[16]" in text
    assert "barrier (" in text


def test_loops_on_the_host() -> None:
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<steps and 0<=i,j<n }",
        """
        b[i] = a[i] + t {id=first, inames=t:i, dep=*}
        a[j] = b[n-1-j] {id=second, inames=t:j, dep=first}
        """,
        name="march",
    )
    knl = pg.add_dtypes(knl, {"a": np.float32, "b": np.float32})
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    lines = shown(knl, "opencl")
    assert lines[0].split("#") == ["for t in [0, steps):     ", " on the host"]
    assert [line for line in lines if "launch" in line] == [
        "  launch march_0(a, b, t):",
        "  launch march_1(a, b, n):",
    ]
