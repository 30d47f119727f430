"""Public functions that are called with things of the wrong kind, or options that they lack."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import polygen as pg
from polygen.errors import InvalidArgument

FUNCTIONS = sorted(name for name in pg.__all__ if inspect.isfunction(getattr(pg, name)))
NAMES_OF_CHOICE = {"fix_parameters", "make_einsum", "analyse"}
NO_ARGUMENTS = {"debug", "default_target", "measure_limits", "profile", "without_proofs"}
# What these take first is no kernel.
OTHERS = {
    *("from_sympy", "to_sympy", "transformation", "merge", "register_reduction"),
    *("make_kernel", "make_function", "make_einsum", "make_copy_kernel"),
    *("parse_kernel", "parse_program", "fuse_kernels", "analyse", "jit"),
    *("atomic_add", "atomic_max", "atomic_min", "atomic_sub", "prange", "vidx", "where"),
    *("atomic_compare_exchange", "atomic_exchange", "printf"),
    *(f"atomic_fetch_{word}" for word in ("add", "and", "max", "min", "mul", "or", "sub", "xor")),
}
# What is needed besides.
MORE: dict[str, tuple[Any, ...]] = {
    "build": ("a folder",),
    "diff": (3,),
    "replay": ((),),
    "is_legal": (pg.reverse,),
    "find_padding_multiple": ("a", 0, 64),
    "explain_order": ("a", "b"),
    "bank_conflicts": ("a",),
    "auto_test_vs_ref": (pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]"),),
    "roofline": (pg.Limits(1, 1), {}),
    "equivalent": (pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]"),),
    "find_rules_matching": ("f*",),
    "plot_domain": ({"n": 4},),
    "report": ("report.html",),
    "optimize_by_size": ([{"n": 3}],),
    "optimize_reductions": (pg.Limits(1, 1),),
    "pack_product": ("insn",),
    "rename_callable": ("f", "g"),
    "apply": ((),),
}
OF_PROGRAMS = {
    "apply",
    "auto_test_vs_ref",
    "build",
    "diff",
    "emit",
    "equivalent",
    "find_schedule",
    "generate_code",
    "lower_kernel",
    "kernel_to_python",
    "replay",
    "report",
}
OF_KERNELS = [name for name in FUNCTIONS if name not in OTHERS | NO_ARGUMENTS]


def refused(call: Callable[[], object]) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        call()
    assert caught.value.where is not None
    assert "test_wrong_kinds.py" in str(caught.value.where)
    assert caught.value.remedy
    return caught.value


def made() -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]")


@pytest.mark.parametrize("name", OF_KERNELS)
@pytest.mark.parametrize("given", [3, "x", None, [3]], ids=repr)
def test_no_kernel(name: str, given: Any) -> None:
    more = MORE.get(name, ())
    error = refused(lambda: getattr(pg, name)(given, *more))
    assert error.what.startswith(f"{name} was given ")
    assert f"={given!r}, which is no kernel" in error.what


QUESTIONS = [n for n in OF_KERNELS if "transforms" not in getattr(pg, n).__module__]


@pytest.mark.parametrize("name", [n for n in QUESTIONS if n not in OF_PROGRAMS])
def test_a_program_is_no_kernel(name: str) -> None:
    program = pg.merge([made()])
    more = MORE.get(name, ())
    error = refused(lambda: getattr(pg, name)(program, *more))
    assert f"{name}(program['name'], ...)" in str(error.remedy)


def test_the_remedy_for_a_program_works() -> None:
    program = pg.merge([made()])
    assert pg.diff(program["polygen_kernel"], made()) == ""


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in NAMES_OF_CHOICE])
def test_an_option_that_there_is_not(name: str) -> None:
    given: tuple[Any, ...] = () if name in NO_ARGUMENTS else (made(),)
    assert "'bogus'" in refused(lambda: getattr(pg, name)(*given, bogus=1)).what


def test_a_close_name_is_suggested() -> None:
    error = refused(lambda: pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 1", assumption="n > 1"))  # type: ignore[call-arg]
    assert "did you mean 'assumptions'" in str(error.remedy)
    error = refused(lambda: pg.split_iname(made(), "i", 4, inner_tags="unr"))  # type: ignore[call-arg]
    assert "did you mean 'inner_tag'" in str(error.remedy)


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: pg.diff(3, 4), "diff was given first=3, which is no kernel"),  # type: ignore[arg-type]
        (
            lambda: pg.generate_code("x"),  # type: ignore[arg-type]
            "generate_code was given kernel='x', which is no kernel and no program",
        ),
        (
            lambda: pg.generate_code(made(), 3),  # type: ignore[arg-type]
            "generate_code was given target=3, which is no text",
        ),
        (lambda: pg.make_einsum(3, ("a",)), "make_einsum was given spec=3, which is no text"),  # type: ignore[arg-type]
        (lambda: pg.make_copy_kernel(3), "was given new_dim_tags=3, which is no text"),  # type: ignore[arg-type]
        (lambda: pg.replay(made(), 3), "was given history=3, which is no collection"),  # type: ignore[arg-type]
        (lambda: pg.transformation(3), "was given function=3, which is no function"),  # type: ignore[call-overload]
        (lambda: pg.Executor("x"), "Executor was given kernel='x', which is no kernel"),  # type: ignore[arg-type]
        (lambda: pg.make_kernel("{ : }"), "make_kernel needs the argument 'instructions'"),  # type: ignore[call-arg]
        (pg.split_iname, "was given kernel=None, which is no kernel"),
        (
            lambda: pg.make_kernel("{ : }", "a[0] = 1", seq_dependencies="yes"),  # type: ignore[arg-type]
            "was given seq_dependencies='yes', which is neither True nor False",
        ),
        (
            lambda: pg.register_preamble_generators(made(), 3),  # type: ignore[arg-type]
            "generators=3, which is not a collection",
        ),
        (lambda: pg.make_kernel("{ : }", "a[0] = 1", [pg.GlobalArg(3)]), "3 is no name of a"),  # type: ignore[arg-type]
    ],
)
def test_single_calls(call: Callable[[], object], what: str) -> None:
    assert what in refused(call).what


@pytest.mark.parametrize(
    ("call", "what", "remedy"),
    [
        (pg.GlobalArg, "GlobalArg needs the argument 'name'", "is GlobalArg(n"),
        (pg.ConstantArg, "ConstantArg needs the argument 'name'", "it is ConstantArg(name, dtype"),
        (pg.ValueArg, "ValueArg needs the argument 'name'", "it is ValueArg(name, dtype=...,"),
        (pg.TemporaryVariable, "needs the argument 'name'", "(name, dtype=..."),
        (lambda: pg.ValueArg("n", shape=3), "ValueArg has no argument 'shape'", "(name, dtype="),  # type: ignore[call-arg]
        (lambda: pg.GlobalArg("a", dtyp=3), "GlobalArg has no argument 'dtyp'", "mean 'dtype'"),  # type: ignore[call-arg]
        (lambda: pg.ValueArg("a", 1, 2), "takes 2 positional arguments, not 3", "ValueArg(name"),  # type: ignore[call-arg, arg-type]
        (pg.Assignment, "Assignment needs the argument 'id'", "Assignment(id, assignee, exp"),
        (lambda: pg.Barrier("b"), "Barrier needs the argument 'scope'", "Barrier(id"),  # type: ignore[call-arg]
        (lambda: pg.NoOp(name="b"), "NoOp has no argument 'name'", "NoOp(id"),  # type: ignore[call-arg]
        (pg.CInstruction, "needs the argument 'iname_exprs'", "(iname_exprs, code, read"),
        (pg.ScalarCallable, "needs the argument 'signatures'", "(signatures, preambles=...)"),
    ],
)  # fmt: skip
def test_what_classes_are_given(call: Callable[[], object], what: str, remedy: str) -> None:
    error = refused(call)
    assert what in error.what
    assert remedy in str(error.remedy)
