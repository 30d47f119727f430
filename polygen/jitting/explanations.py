"""An account of the statements of a function, and of what became of each, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polygen.errors import in_users_words
from polygen.python.placed_kernels import PlacedKernels
from polygen.python.program import HostStatements, KernelRegion, Step
from polygen.runtime.resident_arrays import CopyCount


def explained(name: str, steps: Mapping[int, Sequence[Step]], copied: CopyCount) -> str:
    """Return a paragraph for each block: its variants, or why it is Python.

    Parameters:
        name: that of the function.
        steps: what became of its statements.
        copied: what the last call copied to a device and back.
    """
    if not steps:
        return f"{name}: not called yet"
    lines = [f"{name}:"]
    for at in sorted(steps):
        for step in steps[at]:
            said = _of_kernel(step) if isinstance(step, KernelRegion) else _of_python(step)
            lines += said if said[0] not in lines or isinstance(step, KernelRegion) else []
    if copied.to_device or copied.to_host:
        lines.append(
            f"  copied by the last call on a device: {copied.to_device} bytes there, "
            f"{copied.to_host} back"
        )
    return "\n".join(lines)


def _lines(step: Step) -> str:
    first, last = step.lines
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _of_kernel(step: KernelRegion) -> list[str]:
    plain = step.plain
    found = [f"  {_lines(step)}: kernel '{plain.name}', {len(plain.instructions)} instructions"]
    found += [f"    {line}" for line in step.claims]
    names = {one.name: one.path for one in step.traced.inputs}
    if isinstance(step.kernels, PlacedKernels):
        found += [f"    {in_users_words(str(one), names)}" for one in step.kernels.decisions]
    all_scheduled = step.kernels.scheduled
    for one in all_scheduled:
        kernel = one.kernel
        if one.variant is not None:
            found.append(f"    {in_users_words(str(one.variant), names)}")
        if len(all_scheduled) > 1:
            sizes = ", ".join(f"{name} = {size}" for name, size in one.sizes.items())
            found.append(f"    for sizes like {in_users_words(sizes, names)}")
        found += [f"    {iname}: {kernel.tags[iname]}" for iname in sorted(kernel.tags)]
        found += [f"    {choice}" for choice in kernel.choices]
    return found


def _of_python(step: HostStatements) -> list[str]:
    if step.is_trivial:
        return [f"  {_lines(step)}: Python: nothing is repeated"]
    where = "" if step.where is None else f" (line {step.where.line})"
    found = [f"  {_lines(step)}: Python: {step.why}{where}"]
    if step.remedy:
        found.append(f"    remedy: {step.remedy}")
    return [*found, *[f"    {line}" for line in step.claims]]
