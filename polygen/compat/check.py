"""A kernel beside what steps made of it, on random numbers."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

import polygen as pg
from polygen.compat.diagnostic import AutomaticTestFailure
from polygen.compat.inspection import entry
from polygen.errors import InvalidArgument
from polygen.ir.public import public
from polygen.runtime.evaluate import value_of
from polygen.source import caller_location

_Check: TypeAlias = Callable[[Any, Any], tuple[bool, str]]


@public
def auto_test_vs_ref(  # noqa: PLR0913, PLR0917  (Loo.py's arguments)
    ref_prog: pg.Kernel | pg.TranslationUnit,
    ctx: Any,
    test_prog: pg.Kernel | pg.TranslationUnit | None = None,
    op_count: Sequence[float] | float = (),  # noqa: ARG001
    op_label: Sequence[str] | str = (),  # noqa: ARG001
    parameters: Mapping[str, Any] | None = None,
    print_ref_code: bool = False,
    print_code: bool = True,
    warmup_rounds: int = 2,  # noqa: ARG001
    dump_binary: bool = False,  # noqa: ARG001
    fills_entire_output: bool | None = None,  # noqa: ARG001
    do_check: bool = True,
    check_result: _Check | None = None,
    max_test_kernel_count: int = 1,  # noqa: ARG001
    quiet: bool = False,
    blacklist_ref_vendors: Sequence[str] | str = (),  # noqa: ARG001
    ref_entrypoint: str | None = None,
    test_entrypoint: str | None = None,
) -> dict[str, float]:
    """Run two kernels on the same random numbers, and compare what they write.

    Parameters:
        ref_prog: what is right.
        ctx: a context of PyOpenCL's, or None for the default target.
        test_prog: what should compute the same; the same kernel if it is None.
        parameters: the values of scalar arguments, all sizes among them.
        print_ref_code, print_code: whether the code is shown.
        do_check: whether results are compared.
        check_result: takes a result and the right one, and returns whether it will do, and a
            message; if not given, the relative error in the Euclidean norm decides.
        quiet: whether no code is shown at all.
        ref_entrypoint, test_entrypoint: which kernels, in programs of several entry points.
        op_count, op_label, warmup_rounds, dump_binary, fills_entire_output,
        max_test_kernel_count, blacklist_ref_vendors: nothing depends on them here.

    Returns:
        How long the call of each took, in seconds: ``{"elapsed_wall": ..., "ref_elapsed_wall":
        ...}``.

    Raises:
        AutomaticTestFailure: if results differ.
        TypeNotFound: if the type of an array is not known.
        InvalidArgument: if the value of a size is not known.
    """
    ref = entry(ref_prog, ref_entrypoint)
    test = entry(ref_prog if test_prog is None else test_prog, test_entrypoint)
    queue = None if ctx is None else _queue(ctx)
    given = _arguments(ref, parameters or {})
    expected, ref_elapsed = _results(ref, queue, given, print_ref_code and not quiet)
    found, elapsed = _results(test, queue, given, print_code and not quiet)
    for name in sorted(expected) if do_check else ():
        good, why = (check_result or _is_close)(found[name], expected[name])
        if not good:
            raise AutomaticTestFailure(
                f"'{name}' of kernel '{test.name}' is not what it should be: {why}",
                where=caller_location(),
                remedy="look at the steps: pg.diff(first, second) shows what they changed",
            )
    return {"elapsed_wall": elapsed, "ref_elapsed_wall": ref_elapsed}


def _queue(ctx: Any) -> Any:
    import pyopencl as cl  # noqa: PLC0415  (loads the device libraries)

    return cl.CommandQueue(ctx)


def _arguments(knl: pg.Kernel, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, and random numbers for the arrays."""
    rng = np.random.default_rng(seed=0)
    knl = pg.infer_unknown_types(knl, expect_completion=True)
    given: dict[str, Any] = dict(parameters)
    sizes = {n: operator.index(v) for n, v in parameters.items() if hasattr(v, "__index__")}
    for array in knl.arguments:
        if not isinstance(array, pg.GlobalArg) or array.shape is None or array.dtype is None:
            continue
        try:
            shape = tuple([value_of(extent, sizes) for extent in array.shape])
        except pg.InternalError:
            raise InvalidArgument(
                f"the shape of '{array.name}' needs sizes that parameters= does not have",
                where=caller_location(),
                remedy="pass all of them: parameters={'n': 64}",
            ) from None
        given[array.name] = _random(rng, shape, np.dtype(array.dtype))
    return given


def _random(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iub":
        return rng.integers(0, 2, size=shape).astype(dtype)
    values = rng.uniform(size=shape)
    return (values + 1j * rng.uniform(size=shape) if dtype.kind == "c" else values).astype(dtype)


def _results(
    knl: pg.Kernel, queue: Any, given: Mapping[str, Any], show: bool
) -> tuple[dict[str, Any], float]:
    """Return the arrays that a kernel writes, and how long it took."""
    knl = pg.set_options(knl, return_dict=True, write_code=show)
    own: dict[str, Any] = {
        n: v.copy() if isinstance(v, np.ndarray) else v for n, v in given.items()
    }
    start = time.perf_counter()
    _, outputs = knl(queue, **own)
    return dict(outputs), time.perf_counter() - start


def _is_close(found: Any, expected: Any) -> tuple[bool, str]:
    """Tell whether the relative error in the Euclidean norm is small."""
    right = np.asarray(expected)
    error = np.linalg.norm(np.ravel(found - right)) / max(
        float(np.linalg.norm(np.ravel(right))), 1e-30
    )
    single = right.dtype.itemsize <= 4 or right.dtype == np.complex64
    return bool(error < (1e-4 if single else 1e-10)), f"the relative error is {error:.1e}"
