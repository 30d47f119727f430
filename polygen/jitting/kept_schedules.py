"""Schedules that outlive a process: a second one reads the kernel instead of choosing again.

An entry is the text of a kernel, and the choices that `explain` shows, under the text of the kernel
as the statements say it.  So it holds for as long as a function, and what it depends on, make the
same kernel; a function that changed finds another one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace

from constantdict import constantdict

from polygen.analysis.integers.proving import proofs_are_on
from polygen.ir.kernel import Kernel
from polygen.ir.kernel_values import kernel_of_value_text, kernel_value_text
from polygen.ir.value_texts import NotText
from polygen.runtime.disk import cache as disk
from polygen.runtime.disk.own_sources import sources_stamp
from polygen.schedules.schedule import request_for


def kept_schedule(
    kernel: Kernel,
    sizes: Mapping[str, int],
    magnitudes: Mapping[str, int],
    schedule: Callable[[Kernel, Mapping[str, int]], Kernel],
) -> Kernel:
    """Return a scheduled kernel, from disk if it is there.

    Parameters:
        kernel: the kernel as the statements say it, with a target.
        sizes: those of the call.
        magnitudes: of the sizes of loops: calls that agree in these have one schedule.
        schedule: schedules the kernel for sizes.
    """
    if not disk.caching():
        return schedule(kernel, sizes)
    name = f"{_key(kernel, magnitudes)}.schedule"
    content = disk.load(name)
    found = None if content is None else _read(content, kernel)
    if found is None:
        found = schedule(kernel, sizes)
        _store(name, found)
    return found


def _key(kernel: Kernel, magnitudes: Mapping[str, int]) -> str:
    request = request_for(kernel, None, {}, tune=False)
    device = f"{request.limits!r} {request.units} {request.on_grid}"
    proved = "proved" if proofs_are_on() else ""
    sizes = json.dumps(dict(sorted(magnitudes.items())))
    return disk.key_of("schedule", str(kernel), sizes, device, proved, sources_stamp())


def _read(content: bytes, kernel: Kernel) -> Kernel | None:
    """Return the kernel of an entry, with places in the user's file; None if it is none."""
    try:
        found = kernel_of_value_text(content.decode())
    except (NotText, UnicodeDecodeError):
        return None
    places = {insn.id: insn.location for insn in kernel.instructions}
    instructions = [
        insn.copy(location=places[insn.id]) if insn.id in places else insn
        for insn in found.instructions
    ]
    return replace(
        found,
        instructions=tuple(instructions),
        location=kernel.location,
        written_names=constantdict({**found.written_names, **kernel.written_names}),
    )


def _store(name: str, kernel: Kernel) -> None:
    try:
        text = kernel_value_text(kernel)
    except NotText:  # it is scheduled again
        return
    disk.store(name, text.encode())
