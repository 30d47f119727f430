"""`polygen.auto_test_vs_ref`: a kernel beside what steps made of it, on random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from polygen.analysis.wellformed.check import obligations
from polygen.errors import AutomaticTestFailure, NotCountable
from polygen.inspection.compare.random_arguments import (
    as_wholes,
    check_names,
    laid_out,
    random_arguments,
)
from polygen.inspection.compare.same_results import is_same
from polygen.inspection.counts.access_footprints import gather_access_footprint_bytes
from polygen.inspection.counts.count_keys import CountGranularity
from polygen.inspection.counts.op_map import get_op_map
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.tags import is_parallel
from polygen.language.programs import TranslationUnit
from polygen.runtime.arrays.inferred_sizes import size_names
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.arrays.separate_arrays import whole
from polygen.runtime.executor import Executor
from polygen.runtime.timing import resident, seconds_of
from polygen.source import caller_location
from polygen.transforms.kernels.infer_unknown_types import infer_unknown_types

Check: TypeAlias = Callable[[Any, Any], tuple[bool, str]]


@dataclass(frozen=True)
class AutoTest:
    """The run times of two kernels that compute the same.  It prints as a table.

    Attributes:
        name: that of the kernel that was tested.
        seconds: how long a call of it takes.
        reference_seconds: how long a call of the reference takes.
        bytes: how many have to move in global memory, each element once for reading and once for
            writing; None if data decides.
        operations: how many of a floating-point type there are, each function and each operation
            on complex numbers counted as one; None if data decides.
    """

    name: str
    seconds: float
    reference_seconds: float
    bytes: int | None
    operations: int | None

    @property
    def gigabytes_per_second(self) -> float | None:
        """The rate at which the kernel moves what has to move, in 1e9 bytes a second."""
        return None if self.bytes is None else self.bytes / self.seconds / 1e9

    @property
    def gflops(self) -> float | None:
        """The rate at which the kernel computes, in 1e9 operations a second."""
        return None if self.operations is None else self.operations / self.seconds / 1e9

    def __str__(self) -> str:
        rows = [f"{self.name:20} {'time':>12} {'GB/s':>10} {'GFLOP/s':>10}"]
        for name, seconds in ("kernel", self.seconds), ("reference", self.reference_seconds):
            rates = [
                "?" if number is None else f"{number / seconds / 1e9:.3g}"
                for number in (self.bytes, self.operations)
            ]
            rows.append(f"{name:20} {seconds * 1e6:9.4g} us {rates[0]:>10} {rates[1]:>10}")
        return "\n".join(rows)


@public
def auto_test_vs_ref(
    ref: Kernel | TranslationUnit,
    knl: Kernel | TranslationUnit,
    device: Any = None,
    parameters: Mapping[str, Any] | None = None,
    check_result: Check | None = None,
) -> AutoTest:
    """Run two kernels on the same random numbers, compare what they write, and time them.

    Parameters:
        ref: what is right.
        knl: what should compute the same.
        device: where it runs: what `Kernel.executor` takes.  A reference without parallel inames
            runs where a call with NumPy arrays does, which is the host if it has a C compiler.
        parameters: the value of each size; and other arguments that are not to be random: arrays
            of subscripts, say.  Others are between 0 and 1; integers are 1 to 9, or 0 and 1 where
            they may be subscripts.
        check_result: takes a result and the right one, and returns whether it will do, and a
            message.  If not given, each element may be off by what reassociation explains (7e-5
            for float32, 4e-10 for float64), relative to its size plus the root mean square.

    Returns:
        Times, and the rates that follow from the reference's footprint and operations.  Times are
        the least of several, with arrays that are already on the device; of kernels that read
        what they write, waiting included.

    Raises:
        AutomaticTestFailure: if results differ.
        TypeNotFound: if the type of an argument is not known.
        InvalidArgument: if the value of a size or the shape of an array is not, or if the kernels
            have different arguments.
        NegativeSize: if an array would have fewer than no elements.
        UnknownArgument: if neither kernel has a parameter.
        ObligationViolated, ClaimViolated: if a kernel cannot have such numbers.

    >>> import polygen as pg
    >>> ref = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    >>> ref = pg.add_dtypes(ref, {"a": "float32"})
    >>> knl = pg.split_iname(ref, "i", 8, outer_tag="g.0")
    >>> found = pg.auto_test_vs_ref(ref, knl, "c", {"n": 1000})
    >>> found.bytes, found.operations, found.seconds > 0
    (8000, 1000, True)

    Source: Loo.py's function of this name.
    """
    pair = Pair(_kernel(ref), _kernel(knl), device, parameters or {})
    pair.compare(check_result or is_same)
    return AutoTest(pair.test.name, *pair.seconds(), *_numbers(pair.ref, pair.given))


def _kernel(given: Kernel | TranslationUnit) -> Kernel:
    return given if isinstance(given, Kernel) else given.default_entrypoint


class Pair:
    """Two kernels that should compute the same, and what both are passed."""

    def __init__(
        self, ref: Kernel, test: Kernel, device: Any, parameters: Mapping[str, Any]
    ) -> None:
        """Choose random numbers, and where to run; nothing is compiled yet."""
        self.ref, self.test = ref, test
        check_names((ref, test), parameters)
        self.given = random_arguments(ref, parameters)
        self._reference: Executor = ref.executor(device if _is_parallel(ref) else None)
        self._tested: Executor = test.executor(device)

    def compare(self, check: Check) -> None:
        """Run both, and compare the arrays that the reference writes.

        Raises:
            AutomaticTestFailure: if results differ.
        """
        expected, found = self.results()
        written = {whole(self.ref, name) for name in written_arrays(self.ref)}
        compared = sorted(written & found.keys())
        if not compared:
            raise self._failure(f"it has none of the arrays that '{self.ref.name}' writes")
        for name in compared:
            right = np.asarray(expected[name])
            is_whole = found[name].size == right.size
            result = np.reshape(found[name], right.shape) if is_whole else found[name]
            good, why = check(result, right)
            if not good:
                raise self._failure(f"'{name}' is not what it should be: {why}")

    def results(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Run both, and return the arrays that the reference leaves, and those that the test does.

        Numbers that are given are copied before.
        """
        return _results(self._reference, self.given), _results(self._tested, self.given)

    def _failure(self, what: str) -> AutomaticTestFailure:
        return AutomaticTestFailure(
            f"kernel '{self.test.name}' does not compute what kernel '{self.ref.name}' does: "
            f"{what}",
            where=caller_location(),
            remedy="look at the steps: pg.diff(first, second) shows what they changed",
        )

    def seconds(self) -> tuple[float, float]:
        """Return how long a call takes, and a call of the reference."""
        test, ref = (
            seconds_of(executor, partial(laid_out, kernel, self.given))
            for executor, kernel in ((self._tested, self.test), (self._reference, self.ref))
        )
        return test, ref


def _is_parallel(kernel: Kernel) -> bool:
    return any(is_parallel(tag) for tag in kernel.tags.values())


def _results(executor: Executor, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a kernel makes of copies of its arrays."""
    kernel = executor.kernel
    args = laid_out(kernel, given)
    if obligations(kernel) or kernel.claims:
        executor.check(None, None, args)
    call = resident(executor, args)
    call.run().wait()
    call.copy_back()
    return as_wholes(kernel, args)


def _numbers(kernel: Kernel, given: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """Return how many bytes have to move, and how many operations there are."""
    typed = infer_unknown_types(kernel, expect_completion=True)
    sizes = {name: given[name] for name in size_names(typed) if name in given}

    def bytes_moved() -> int:
        moved = gather_access_footprint_bytes(typed)
        return sum(count.eval_with_dict(sizes) for count in moved.values())

    def operations() -> int:
        each = CountGranularity.WORKITEM
        done = get_op_map(typed, count_within_subscripts=False, count_granularity=each)
        return done.filter_by_func(lambda op: op.dtype.kind in "fcV").eval_and_sum(sizes)

    return _if_countable(bytes_moved), _if_countable(operations)


def _if_countable(count: Callable[[], int]) -> int | None:
    try:
        return count()
    except NotCountable:
        return None
