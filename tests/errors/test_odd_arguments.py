"""Public functions with random arguments of odd kinds: what is raised is an error of the user's."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import PolygenWarning, UserError

# They take no kernel first, do nothing but measure, or write files wherever they are told to.
NO_KERNEL_FIRST = {
    *("make_kernel", "make_function", "make_einsum", "make_copy_kernel", "parse_kernel"),
    *("parse_program", "register_reduction", "from_sympy", "to_sympy", "analyse", "jit"),
}
LEFT_OUT = {
    *("default_target", "without_proofs", "measure_limits", "profile", "transformation"),
    *("build", "emit", "report", "plot_domain", "show_dependency_graph", "is_legal"),
    # Plain Python, in compiled functions and outside: what NumPy raises stays.
    *("atomic_add", "atomic_max", "atomic_min", "atomic_sub", "prange", "vidx", "where", "debug"),
    *("atomic_compare_exchange", "atomic_exchange", "printf"),
    *(f"atomic_fetch_{word}" for word in ("add", "and", "max", "min", "mul", "or", "sub", "xor")),
}
FUNCTIONS = sorted(
    n for n in pg.__all__ if inspect.isfunction(getattr(pg, n)) and n not in LEFT_OUT
)
NAMES = [
    *("i", "j", "i,j", "i, i", "n", "a", "out", "t", "insn", "other", "f", "x", "id:insn", "a[i]"),
    *("g.0", "l.0", "l.auto", "unr", "vec", "ilp", "for", "C", "F", "N0,N1", "sep", "stride:1"),
    *("float32", "int64", "c", "opencl", "cuda", "local", "global", "i+1", "2*i", "-n", "n >= 1"),
    *("0<=i<4", "{ [i]: 0<=i<3 }", "{ [i] -> [k]: k = i }", "forward", "atomic", "any", "sum"),
    *("", " ", "*", "**", "{", "[", "]", "n+", "1e400", "\0", "\ud800", "é", "a" * 300, "norm"),
]
NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 3, 2**31, 2**63, -(2**70), 10**30, 1.5, float("nan"), True, False, None),
    *(np.int64(3), np.float32(2), np.zeros(2), np.array(3), range(3), np.dtype("float32")),
]
LISTS: list[Any] = [
    *([], (), {}, ["i"], ("i", "j"), [0], [None], ["a"], ["insn", "other"], [[]], ("",)),
    *({"i": "l.0"}, {"a": "float32"}, {"i": 1}, {"n": 4}, {1: 2}, {"insn": "x"}, {"i"}),
    *(("a", 0), ("a", -1), ("a", 7), [("a", 0)], [("split_iname", "i", 4)], frozenset(["i"])),
]
OTHERS: list[Any] = [b"i", object, object(), pg.Limits(1, 1), np.float64, pg.AddressSpace.LOCAL]


def kernels() -> list[pg.Kernel]:
    square = "{ [i,j]: 0<=i<8 and 0<=j<16 }"
    sums = "<> t = sum(j, a[i,j]) {id=insn}\nout[i] = t + 1 {id=other}"
    rules = "f(x) := 2*a[x]\nout[i] = f(i) {id=insn}\nb[i] = f(i+1) {id=other}"
    made = [
        pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]"),
        pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i] = sum(j, a[i,j])"),
        pg.make_kernel(square, sums),
        pg.tag_inames(pg.make_kernel(square, sums), {"i": "l.0"}),
        pg.make_kernel("{ [i]: 0<=i<n }", rules),
    ]
    typed = [pg.add_dtypes(knl, {"a": "float32"}) for knl in made]
    return [*typed, pg.make_kernel("{ : }", "out[0] = 1 {id=insn}")]


KERNELS = kernels()


def odd(r: random.Random) -> Any:
    """Return anything; what iterates once is made anew each time."""
    some = r.choice((NAMES, NAMES, NUMBERS, LISTS, LISTS, OTHERS))
    found = r.choice(some)
    if found is OTHERS[0]:
        made: list[Any] = [iter(["i"]), _nothing, _three, r.choice(KERNELS)]
        return r.choice(made)
    return found


def _nothing(*_: object) -> None:
    """Take anything."""


def _three(*_: object) -> int:
    return 3


def call(name: str, r: random.Random) -> tuple[Callable[[], Any], str]:
    """Return a random call of a function, and its text."""
    function = getattr(pg, name)
    args: list[Any] = []
    named: dict[str, Any] = {}
    for at, p in enumerate(inspect.signature(function).parameters.values()):
        if at == 0 and name not in NO_KERNEL_FIRST:
            knl = r.choice(KERNELS)
            args.append([knl, r.choice(KERNELS)] if name in ("merge", "fuse_kernels") else knl)
        elif p.kind == p.VAR_POSITIONAL:
            args += [odd(r) for _ in range(r.choice((0, 1, 2)))]
        elif p.kind == p.VAR_KEYWORD:
            named |= {
                n: odd(r) for n in r.sample(("n", "a", "x", "return_dict", "build_options"), 1)
            }
        elif p.default is p.empty or r.random() < 0.35:
            named[p.name] = odd(r)
    shown = ", ".join([*map(repr, args[1:]), *(f"{n}={v!r}" for n, v in named.items())])
    return lambda: function(*args, **named), f"{name}({shown})"


def check_calls(name: str, seed: int, count: int) -> None:
    """Check that calls return, or are refused, and that so is making code of what they return."""
    r = random.Random(f"{name} {seed}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PolygenWarning)
        for _ in range(count):
            made, text = call(name, r)
            try:
                found = made()
                if isinstance(found, pg.Kernel):
                    pg.generate_code(found, r.choice(("c", "opencl", "cuda")))
            except UserError as error:
                assert error.what, text
            except Exception as error:
                error.add_note(text)
                raise


def test_every_function_refuses_what_it_cannot_take() -> None:
    for name in FUNCTIONS:
        check_calls(name, 0, 2)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(1, 11))
def test_every_function_refuses_more(seed: int) -> None:
    for name in FUNCTIONS:
        check_calls(name, seed, 100)


# What random calls found, each once.
FOUND: list[tuple[Callable[[], object], str]] = [
    (lambda: pg.to_sympy(("1 + 1",)), "which is no expression"),  # type: ignore[arg-type]
    (lambda: pg.from_sympy(np.float64), "which is none of sympy's"),
    (lambda: pg.split_reduction_inward(KERNELS[1], ()), "no reduction runs over no inames"),
    (lambda: pg.find_instructions(KERNELS[1], [None]), "None is no query"),  # type: ignore[list-item]
    (lambda: pg.assume(KERNELS[0], "n > \ud800"), "half of a character"),
    (lambda: pg.map_domain(KERNELS[0], "{ [i] -> [\ud800]: 0 = 1 }"), "half of a character"),
    (lambda: pg.register_symbol_manglers(KERNELS[0], "x"), "'x' is no function"),  # type: ignore[arg-type]
    (lambda: pg.generate_code(pg.fix_parameters(KERNELS[0], n=2**63)), "longer than counters"),
    (lambda: pg.add_nosync(KERNELS[0], np.zeros(2), "insn", "insn"), "not 'local', 'global'"),  # type: ignore[arg-type]
    (lambda: pg.replay(KERNELS[0], np.array(3)), "which is no collection"),
    (lambda: pg.precompute(KERNELS[4], "f", 2), "sweep_inames=2, which is not inames"),  # type: ignore[arg-type]
]  # fmt: skip


@pytest.mark.parametrize(("call", "what"), FOUND)
def test_single_calls(call: Callable[[], object], what: str) -> None:
    with pytest.raises(UserError) as caught:
        call()
    assert what in caught.value.what


def test_texts_for_sympy_are_not_executed(tmp_path: Path) -> None:
    text = f"__import__('pathlib').Path({str(tmp_path / 'ran')!r}).touch()"
    for given in (text, (text,), [text], {text: 1}):
        for convert in (pg.to_sympy, pg.from_sympy):
            with pytest.raises(UserError):
                convert(given)  # type: ignore[arg-type]
    assert not (tmp_path / "ran").exists()
