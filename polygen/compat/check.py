"""A kernel beside what steps made of it, on random numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polygen as pg
from polygen.compat._table import entry
from polygen.inspection.compare.auto_test import Check, Pair
from polygen.inspection.compare.same_results import is_same
from polygen.ir.public import public


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
    check_result: Check | None = None,
    max_test_kernel_count: int = 1,  # noqa: ARG001
    quiet: bool = False,
    blacklist_ref_vendors: Sequence[str] | str = (),  # noqa: ARG001
    ref_entrypoint: str | None = None,
    test_entrypoint: str | None = None,
) -> dict[str, float]:
    """Run two kernels on the same random numbers, and compare what they write.

    Parameters:
        ref_prog: what is right.
        ctx: a context of PyOpenCL's, or None for the default target.  A reference without parallel
            inames runs on the default target.
        test_prog: what should compute the same; the same kernel if it is None.
        parameters: the values of scalar arguments, all sizes among them.
        print_ref_code, print_code: whether the code is shown.
        do_check: whether results are compared.
        check_result: takes a result and the right one, and returns whether it will do, and a
            message; if not given, what `polygen.auto_test_vs_ref` does.
        quiet: whether no code is shown at all.
        ref_entrypoint, test_entrypoint: which kernels, in programs of several entry points.
        op_count, op_label, warmup_rounds, dump_binary: nothing depends on them here.
        fills_entire_output, max_test_kernel_count, blacklist_ref_vendors: nor on these.

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
    ref = pg.set_options(ref, write_code=print_ref_code and not quiet)
    test = pg.set_options(test, write_code=print_code and not quiet)
    pair = Pair(ref, test, ctx, parameters or {})
    if do_check:
        pair.compare(check_result or is_same)
    elapsed, ref_elapsed = pair.seconds()
    return {"elapsed_wall": elapsed, "ref_elapsed_wall": ref_elapsed}
