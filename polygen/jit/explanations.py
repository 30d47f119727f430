"""What became of the statements of a function, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polygen.python.program import HostStatements, KernelRegion, Step


def explained(name: str, steps: Mapping[int, Sequence[Step]]) -> str:
    """Return a paragraph for each block: its variants, or why it is Python."""
    if not steps:
        return f"{name}: not called yet"
    lines = [f"{name}:"]
    for at in sorted(steps):
        for step in steps[at]:
            lines += _of_kernel(step) if isinstance(step, KernelRegion) else _of_python(step)
    return "\n".join(lines)


def _lines(step: Step) -> str:
    first, last = step.lines
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _of_kernel(step: KernelRegion) -> list[str]:
    kernel = step.kernel
    found = [f"  {_lines(step)}: kernel '{kernel.name}', {len(kernel.instructions)} instructions"]
    found += [f"    {iname}: {tags}" for iname, tags in sorted(_tags(step).items())]
    found += [f"    {choice}" for choice in kernel.choices]
    return found


def _tags(step: KernelRegion) -> dict[str, str]:
    tags = step.kernel.tags
    return {iname: str(tags[iname]) for iname in tags}


def _of_python(step: HostStatements) -> list[str]:
    if step.is_trivial:
        return [f"  {_lines(step)}: Python: nothing is repeated"]
    where = "" if step.where is None else f" (line {step.where.line})"
    found = [f"  {_lines(step)}: Python: {step.why}{where}"]
    if step.remedy:
        found.append(f"    remedy: {step.remedy}")
    return found
