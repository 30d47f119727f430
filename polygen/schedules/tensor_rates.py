"""Says how fast tensor cores are at the operations of some instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polygen.inspection.devices.limits import Limits
from polygen.ir.dtype import dtype_name, is_short_float
from polygen.ir.kernel import Kernel
from polygen.ir.tags import MatrixTag
from polygen.ir.target_facts import facts_of


def tensor_rate(kernel: Kernel, ids: Iterable[str], dtype: str, limits: Limits) -> float | None:
    """Return how many operations of a type tensor cores may do in a second; None if they do none.

    Parameters:
        kernel: its types are known.
        ids: the instructions: of numbers of 16 bits that they read, operations are float32.
        dtype: the name of the type.
        limits: those of the device.
    """
    if not facts_of(kernel.target).has_tensor_cores:
        return None
    rates = limits.tensor_operations_per_second
    found = [rates[kind] for kind in _kinds(kernel, ids, dtype) if kind in rates]
    return max(found, default=None)


def _kinds(kernel: Kernel, ids: Iterable[str], dtype: str) -> Iterator[str]:
    if dtype == "float64":
        yield dtype
    if dtype != "float32":
        return
    if kernel.options.allow_tf32:
        yield "tf32"
    for insn_id in ids:
        for name in kernel.instruction(insn_id).read_names & kernel.variables.keys():
            stored = kernel.variables[name].dtype
            if stored is not None and is_short_float(stored):
                yield dtype_name(stored)


def reached_rate(kernel: Kernel, ids: Iterable[str], dtype: str, limits: Limits) -> float | None:
    """Return how many of these polygen's products reach (benchmarks/tensor_core_tiles.py)."""
    rate = tensor_rate(kernel, ids, dtype, limits)
    return None if rate is None else rate * _REACHED.get(dtype, _REACHED_OTHERS)


def uses_tensor_cores(kernel: Kernel) -> bool:
    """Tell whether a kernel has loops tagged ``mma``."""
    return any(isinstance(tag, MatrixTag) for tag in kernel.tags.values())


_REACHED = {"float64": 0.77}
_REACHED_OTHERS = 0.3
