"""`to_batched`: what a kernel does, several times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.analysis.access.domains import domain_of
from polygen.errors import (
    AxisNotPossible,
    IllegalStep,
    InvalidArgument,
    NameTaken,
    UnknownArgument,
    UserError,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from tests.oracle.cases import lowered
from tests.oracle.compare import run_program, typed
from tests.oracle.interpreter import interpret

COUNTS = (0, 1, 5, 8)


def made(domains: Any, text: str, *data: Any, **options: Any) -> Kernel:
    """Return a kernel whose arrays are of float64."""
    knl = pg.make_kernel(domains, text, [*data, "..."], name="one", **options)
    names = [a.name for a in knl.arguments if isinstance(a, pg.GlobalArg) and a.dtype is None]
    return pg.add_dtypes(knl, dict.fromkeys(names, "float64"))


def product() -> Kernel:
    knl = made("{ [i,j]: 0<=i<n and 0<=j<m }", "y[i] = s*sum(j, a[i,j]*x[j])")
    return pg.add_dtypes(knl, {"s": "float64"})


def csr() -> Kernel:
    return made(
        ["{ [i]: 0<=i<n }", "{ [j]: start<=j<end }"],
        """
        <int32> start = first[i]
        <int32> end = first[i+1]
        y[i] = sum(j, v[j]*x[column[j]])
        """,
        pg.GlobalArg("first", "int32", "n+1"),
        pg.GlobalArg("column", "int32", "nnz"),
        pg.GlobalArg("v", "float64", "nnz"),
        pg.GlobalArg("x", "float64", "m"),
    )


def steps() -> Kernel:
    """Return a kernel that changes an array in place, in several steps."""
    return made("{ [t,i]: 0<=t<3 and 1<=i<n }", "u[i] = u[i] + u[i-1]", loop_priority="t, i")


def rules() -> Kernel:
    return made("{ [i]: 0<=i<n }", "f(k) := a[k]*w[k]\n<> t = f(i)\nb[i] = t*t + i")


def in_memory() -> Kernel:
    """Return a kernel with a temporary in global memory."""
    knl = made(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }"],
        "t[i] = 2*a[i]  {id=t}\nb[j] = t[n-1-j]  {dep=t}",
    )
    return pg.change_arg_to_temporary(knl, "t")


def called() -> Kernel:
    function = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = c*x[k]", ["c", "x", "y"], name="f")
    data = [pg.GlobalArg("a", "float64", "n, 4"), pg.GlobalArg("b", "float64", "n, 4")]
    text = "[j]: b[i,j] = f(c, [j]: a[i,j])"
    return made(
        "{ [i]: 0<=i<n }", text, *data, pg.ValueArg("c", "float64"), functions={"f": function}
    )


def related() -> Kernel:
    relation = "{ [i] -> [i']: i' = i }"
    return made("{ [i]: 0<=i<n }", f"a[i] = i {{id=a}}\nb[i] = a[i] {{id=b, dep=a[{relation}]}}")


CASES: dict[str, tuple[Kernel, tuple[str, ...], Mapping[str, int]]] = {
    "vectors": (product(), ("x", "y"), {"n": 5, "m": 3}),
    "all": (product(), ("a", "s", "x", "y"), {"n": 3, "m": 2}),
    "only what is written": (product(), ("y",), {"n": 3, "m": 2}),
    "only what is read": (product(), ("x",), {"n": 3, "m": 2}),
    "bounds that are data": (csr(), ("x", "y"), {"n": 3, "m": 4, "nnz": 5}),
    "in place": (steps(), ("u",), {"n": 6}),
    "in place, one for all": (steps(), (), {"n": 6}),
    "rules": (rules(), ("a", "b"), {"n": 4}),
    "a temporary in memory": (in_memory(), ("a", "b"), {"n": 4}),
    "a call": (called(), ("a", "b", "c"), {"n": 3}),
    "relations": (related(), ("a", "b"), {"n": 3}),
}


def _arguments(knl: Kernel, sizes: Mapping[str, int], count: int, varying: Iterable[str]) -> Any:
    """Return arguments of one kernel, and of its batches."""
    random = np.random.default_rng(count)
    one: dict[str, Any] = dict(sizes)
    for argument in knl.arguments:
        if isinstance(argument, pg.GlobalArg):
            shape = [int(eval(str(e), {}, dict(sizes))) for e in argument.shape or ()]  # noqa: S307
            one[argument.name] = random.integers(-3, 4, size=shape).astype(argument.dtype)
        elif argument.name not in sizes:
            one[argument.name] = 2.0
    if "first" in one:
        one |= {
            "first": np.array([0, 2, 2, 5], np.int32),
            "column": np.arange(5, dtype=np.int32) % 4,
        }
    names = [n for n in varying if n in one]
    several = {n: random.integers(-3, 4, (count, *np.shape(one[n]))).astype(float) for n in names}
    return one, several


def _wanted(knl: Kernel, one: dict[str, Any], several: Mapping[str, Any], count: int) -> Any:
    """Return the arrays after the kernel was executed for each batch."""
    left, batches = dict(one), {n: v.copy() for n, v in several.items()}
    for number in range(count):
        given = left | {n: np.asarray(v[number]) for n, v in batches.items()}
        given |= {n: float(v) for n, v in given.items() if np.ndim(v) == 0 and n in several}
        found = interpret(typed(knl, given), given).arrays
        for name, array in found.items():
            if name in batches:
                batches[name][number] = array
            else:
                left[name] = array
    return left | batches


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("sequential", [False, True])
def test_each_batch_is_what_the_kernel_does(name: str, sequential: bool) -> None:
    knl, varying, sizes = CASES[name]
    new = pg.to_batched(knl, "nb", varying, sequential=sequential)
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(new.original or new, new.history) == new
    for count in COUNTS:
        one, several = _arguments(knl, sizes, count, varying)
        wanted = _wanted(knl, one, several, count)
        given = {**one, **several, "nb": count}
        given = {n: v for n, v in given.items() if n in new.variables}
        same = typed(new, given)
        for found in (interpret(same, given, 3), run_program(lowered(same), given, 4)):
            for array, values in found.arrays.items():
                if array in wanted:
                    np.testing.assert_array_equal(values, wanted[array], err_msg=f"{array} {count}")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_on_both_targets(target: str) -> None:
    new = pg.to_batched(product(), "nb", ["x", "y"])
    grid = pg.tag_inames(new, {"ibatch": "g.0"})
    fixed = pg.to_batched(product(), 5, {"x", "y", "s"})
    for knl in (new, grid, fixed):
        run = knl.executor(target)
        for count in (5,) if knl is fixed else COUNTS:
            for n, m in ((0, 3), (1, 1), (7, 5)):
                a, x = (
                    np.random.default_rng(n).random((n, m)),
                    np.random.default_rng(m).random((count, m)),
                )
                s: Any = np.arange(5.0) if knl is fixed else 2.0
                _, (y,) = run(a=a, x=x, s=s, n=n, m=m, **({} if knl is fixed else {"nb": count}))
                np.testing.assert_allclose(y, x @ a.T * (s[:, None] if knl is fixed else s))


def test_the_instances_are_the_old_ones_for_each_batch() -> None:
    knl = made("{ [i,j]: 0<=j<=i<n }", "a[i,j] = i")
    new = pg.to_batched(knl, 3, "a")
    (insn,) = new.instructions
    assert insn.within_inames == {"i", "j", "ibatch"}
    values = domain_of(new, insn.within_inames)
    assert values.is_equal(
        domain_of(knl, frozenset("ij")).intersect(domain_of(new, frozenset(["ibatch"])))
    )


def test_what_it_declares() -> None:
    knl = made(
        "{ [i,j]: 0<=i,j<n }",
        "b[i,j] = a[i,j]",
        pg.GlobalArg("a", None, "n, n", order="F"),
        pg.GlobalArg("b", None, "n, n", dim_names="row, column"),
    )
    new = pg.to_batched(knl, "nb", "a, b", "k")
    assert [a.name for a in new.arguments] == ["nb", "a", "b", "n"]
    assert [str(t) for t in new.array("a").dim_tags or ()] == ["N2", "N0", "N1"]
    assert new.array("b").dim_names == ("k", "row", "column")
    assert new.inames[0] == "k"
    assert pg.to_batched(knl, "n", "a, b").arguments[0].name == "a"  # a size that is there
    assert str(pg.to_batched(knl, 2, "a, b", sequential=True).tags["ibatch"]) == "for"
    memory = pg.to_batched(in_memory(), "nb", "a, b")
    assert len(memory.array("t").shape or ()) == 2
    assert (
        len(pg.to_batched(in_memory(), "nb", "a, b", sequential=True).array("t").shape or ()) == 1
    )


def test_what_does_not_vary_is_left_by_the_last_batch() -> None:
    new = pg.to_batched(product(), "nb", "x")
    with pytest.raises(IllegalStep, match="overwrites"):
        pg.tag_inames(new, {"ibatch": "g.0"})
    parallel = pg.to_batched(in_memory(), "nb", "a, b")
    parallel = pg.tag_inames(parallel, {"ibatch": "g.0"})
    assert "double *restrict t" in str(pg.generate_code(parallel, "opencl"))
    with pytest.raises(IllegalStep):
        shared = pg.to_batched(in_memory(), "nb", "a, b", sequential=True)
        pg.tag_inames(pg.untag_inames(shared, "ibatch"), {"ibatch": "g.0"})


VERBATIM = '... code(i) "b[i] = 1;" writes(b[i])  {inames=i}'
REFUSED: dict[str, tuple[Kernel, tuple[Any, ...], type[UserError], str]] = {
    "no such array": (product(), ("nb", ["xx"]), UnknownArgument, "did you mean 'x'"),
    "a negative count": (product(), (-1, ["x"]), InvalidArgument, "nbatches=-1"),
    "no count": (product(), (True, ["x"]), InvalidArgument, "nbatches=True"),
    "a formula": (product(), ("n+1", ["x"]), InvalidArgument, "nbatches='n\\+1'"),
    "a name that is taken": (product(), ("a", ["x"]), NameTaken, "already has a 'a'"),
    "names that can be read once": (
        product(),
        (2, iter(["x"])),
        InvalidArgument,
        "which is not arguments and temporaries",
    ),
    "no names": (product(), (2, 3), InvalidArgument, "batch_varying_args=3"),
    "a size": (product(), (2, ["n"]), InvalidArgument, "'n' cannot vary: it stands in"),
    "a bound": (csr(), (2, ["start"]), InvalidArgument, "'start' cannot vary: it stands in"),
    "strides": (
        made("{ [i]: 0<=i<n }", "b[i] = 1", pg.GlobalArg("b", None, "n", strides="2")),
        (2, ["b"]),
        AxisNotPossible,
        "strides of 'b' are given",
    ),
    "verbatim C": (
        made("{ [i]: 0<=i<4 }", VERBATIM, pg.GlobalArg("b", "float64", 4)),
        (2, ["b"]),
        VerbatimNotPossible,
        "'b'",
    ),
    "a claim on an array": (
        pg.assume_injective(
            made(
                "{ [i]: 0<=i<n }",
                "b[k[i]] = 1",
                pg.GlobalArg("k", "int32", "n"),
                pg.GlobalArg("b", None, "m"),
            ),
            "k",
        ),
        (2, ["k", "b"]),
        InvalidArgument,
        "says nothing of several batches",
    ),
    "a claim on instructions": (
        pg.assume_independent(
            made(
                "{ [i]: 0<=i<n }",
                "b[k[i]] = 1  {id=put}",
                pg.GlobalArg("k", "int32", "n"),
                pg.GlobalArg("b", None, "m"),
            ),
            "put",
            "put",
        ),
        (2, ["k"]),
        InvalidArgument,
        "several batches, and 'b' is one",
    ),
    "a table": (
        made(
            "{ [i]: 0<=i<4 }",
            "b[i] = w[i]",
            pg.TemporaryVariable("w", initializer=np.arange(4.0), read_only=True),
        ),
        (2, ["w"]),
        InvalidArgument,
        "'w' cannot vary: it is a table of constants",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    knl, given, kind, text = REFUSED[name]
    with pytest.raises(kind, match="(?s)" + text):
        pg.to_batched(knl, *given)


def test_a_recurrence_that_was_split() -> None:
    knl = pg.split_iname(made("{ [i]: 1<=i<n }", "u[i] = u[i] + u[i-1]"), "i", 4)
    new = pg.to_batched(knl, "nb", "u")
    for target in ("c", "opencl"):
        u = np.arange(33.0).reshape(3, 11)
        wanted = np.cumsum(u, axis=1)
        new.executor(target)(u=u)
        np.testing.assert_allclose(u, wanted)


def test_claims_that_stay_true_are_kept() -> None:
    knl = pg.assume_independent(
        made("{ [i]: 0<=i<n }", "b[k[i]] = 1  {id=put}", pg.GlobalArg("k", "int32", "n"),
             pg.GlobalArg("b", None, "m")), "put", "put",
    )  # fmt: skip
    new = pg.to_batched(knl, "nb", "b")
    assert new.claims == knl.claims


def test_a_private_temporary_has_a_constant_size() -> None:
    new = pg.to_batched(rules(), 3, "a, b, t")
    assert new.array("t").shape == (3,)
    a, w = np.random.default_rng(1).random((3, 4)), np.arange(4.0)
    for target in ("c", "opencl"):
        _, (b,) = new.executor(target)(a=a, w=w)
        np.testing.assert_allclose(b, (a * w) ** 2 + np.arange(4))
    with pytest.raises(UserError, match="'t'"):
        pg.to_batched(rules(), "nb", "a, b, t")
