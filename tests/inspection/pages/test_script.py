"""Kernels as Python scripts, and what differs between two kernels."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import polygen as pg
from tests.language.test_round_trip import kernels


def run(script: str) -> pg.Kernel:
    """Return the kernel that a script makes."""
    names: dict[str, Any] = {}
    exec(compile(script, "script.py", "exec"), names)  # noqa: S102  (made from our own kernel)
    knl = names["knl"]
    assert isinstance(knl, pg.Kernel)
    return knl


def sums() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i, j]: 0<=i,j<n }",
        """
        f(x) := x*a[x]
        <> t = f(i)  {if=i > 2, tags=t:u, priority=-2}
        out[i] = sum(j, f(j)) + 0.5  {if=i > 2, groups=g}
        q[i, j] = 0  {id=q, conflicts=g, nosync=insn@local}
        ... nop  {dep=q}
        """,
        [
            pg.GlobalArg("q", np.float32, "(n+1)*2, n", strides="1, n", may_alias=True),
            pg.TemporaryVariable("s", np.int64, (4, 5), pg.AddressSpace.LOCAL),
            "...",
        ],
        name="sums",
        assumptions="n >= 1 and n mod 4 = 0",
        loop_priority="i, j",
        target="c",
        silenced_warnings="AmbiguousNesting",
    )


def stepped() -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "b[i] = 2*a[i]  {id=first}\nc[i] = b[i] + 1  {id=second}", name="steps"
    )
    knl = pg.add_dtypes(knl, {"a": np.float32, "n": "int64"})
    knl = pg.duplicate_inames(knl, "i", ["writes:c"], tags={"i": "unr"})
    knl = pg.tag_inames(pg.split_iname(knl, "i", 16, outer_iname="block"), {"block": "g.0"})
    return pg.fix_parameters(knl, n=64)


@pytest.mark.parametrize("make", [sums, stepped])
def test_scripts_make_the_kernel(make: Any) -> None:
    knl = make()
    script = pg.kernel_to_python(knl)
    assert run(script) == knl
    assert "parse_kernel" not in script
    assert pg.kernel_to_python(run(script)) == script


def test_steps_are_written_as_they_were_taken() -> None:
    script = pg.kernel_to_python(stepped())
    assert script.splitlines()[-5:] == [
        "knl = pg.add_dtypes(knl, {'a': 'float32', 'n': 'int64'})",
        "knl = pg.duplicate_inames(knl, 'i', ['writes:c'], tags={'i': 'unr'})",
        "knl = pg.split_iname(knl, 'i', 16, outer_iname='block')",
        "knl = pg.tag_inames(knl, {'block': 'g.0'})",
        "knl = pg.fix_parameters(knl, n=64)",
    ]


def test_what_make_kernel_cannot_make() -> None:
    """Such as one with tags and no history; steps that are not ours are left out."""
    tagged = pickle.loads(pickle.dumps(stepped()))  # noqa: S301  (our own)
    script = pg.kernel_to_python(tagged)
    assert "pg.parse_kernel" in script
    assert run(script) == tagged

    @pg.transformation
    def mine(knl: pg.Kernel) -> pg.Kernel:
        return pg.split_iname(knl, "i", 4)

    knl = mine(pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1"))
    assert "mine" not in pg.kernel_to_python(knl)
    assert run(pg.kernel_to_python(knl)) == knl


def test_quotes_and_backslashes_of_verbatim_c() -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        r"""... code(j=2*i) "out[i] = '\\\\'; /* ''' \f */" writes(out)  {inames=i}""",
        [pg.GlobalArg("out", np.int32, "n"), "n"],
    )
    insn = knl.instructions[0]
    assert isinstance(insn, pg.CInstruction)
    assert "'''" in insn.code
    assert "\\" in insn.code
    script = pg.kernel_to_python(knl)
    assert "parse_kernel" not in script
    assert run(script) == knl


def test_programs_and_functions() -> None:
    half = pg.ScalarCallable({"halved_d": "float64 -> float64"}, "/* ''' \\ */")
    scale = pg.make_function("{ [k]: 0<=k<m }", "y[k] = halved(x[k])", name="scale")
    scale = pg.register_callable(scale, "halved", half)
    rows = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[k]: out[i, k] = scale(m, [k]: a[i, k])",
        [pg.GlobalArg("a", shape="n, m"), pg.GlobalArg("out", shape="n, m"), "..."],
        name="rows",
    )
    program = pg.merge([rows, scale])
    names: dict[str, Any] = {}
    exec(pg.kernel_to_python(program), names)  # noqa: S102  (made from our own program)
    assert names["knl"] == program
    knl = pg.split_iname(program["rows"], "i", 4)
    assert run(pg.kernel_to_python(knl)) == knl


def test_what_is_no_kernel() -> None:
    with pytest.raises(
        pg.errors.InvalidArgument, match="given kernel=3, which is no kernel and no program"
    ) as caught:
        pg.kernel_to_python(3)  # type: ignore[arg-type]
    assert "merge" in str(caught.value.remedy)


def _is_made_again(knl: pg.Kernel) -> None:
    with pg.without_proofs():
        again = run(pg.kernel_to_python(knl))
    assert again == knl
    assert pg.diff(knl, again) == ""


# What a random kernel is warned of, its script is, too.
_SAID = [f"ignore::polygen.errors.{name}" for name in ("UnusedGroup", "PriorityIgnored")]


@pytest.mark.filterwarnings(*_SAID)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(kernels())
def test_random_kernels(knl: pg.Kernel) -> None:
    _is_made_again(knl)


@pytest.mark.more
@pytest.mark.filterwarnings(*_SAID)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(kernels())
def test_more_random_kernels(knl: pg.Kernel) -> None:
    _is_made_again(knl)


# --- diff


def test_no_difference() -> None:
    assert pg.diff(sums(), sums()) == ""


def test_no_difference_where_isl_writes_a_set_in_another_way() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n and not (2<=i<5 and 1<=j<4) }",
        "out[i, j] = 10*i + j",
        [pg.GlobalArg("out", shape="n, n"), "..."],
        loop_priority="i, j",
    )
    other = pg.parse_kernel(str(knl))  # isl takes a union apart in another way the second time
    assert knl == other
    assert str(knl) != str(other)
    assert pg.diff(knl, other) == ""
    assert pg.diff(knl, other.copy(name="other")).splitlines() == [
        "- KERNEL: polygen_kernel",
        "+ KERNEL: other",
    ]


def test_changed_lines_only() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]\nc[i] = 3\nd[i] = 4", name="one")
    other = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]\nd[i] = 5", name="two", target="c")
    assert pg.diff(knl, other).splitlines() == [
        "- KERNEL: one",
        "+ KERNEL: two",
        "+ TARGET: c",
        "ARGUMENTS:",
        "- c: GlobalArg, type: <runtime>, shape: (n), strides: <runtime>",
        "INSTRUCTIONS:",
        "- [i] c[i] = 3  {id=insn_0}",
        "- [i] d[i] = 4  {id=insn_1}",
        "+ [i] d[i] = 5  {id=insn_0}",
    ]
    tagged = pg.tag_inames(knl, {"i": "g.0"})
    assert pg.diff(knl, tagged) == "INAME TAGS:\n+ i: g.0"
    assert pg.diff(tagged, knl) == "INAME TAGS:\n- i: g.0"


def test_tuples_stay_tuples() -> None:
    """A pair of an array and an axis is none as a list."""
    temporary = pg.TemporaryVariable("t", np.float64, "n", pg.AddressSpace.GLOBAL)
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        ["t[i] = a[i]  {id=write}", "out[i] = t[i]  {dep=write}"],
        [temporary, "..."],
    )
    knl = pg.split_array_dim(knl, ("t", 0), 4)
    script = pg.kernel_to_python(knl)
    assert script.endswith("knl = pg.split_array_dim(knl, ('t', 0), 4)")
    assert run(script) == knl
