"""The kernels of a block on the processor and on a device; each call chooses by its sizes.

What is best depends on how much is computed for each byte that is copied: a decision is made for
each power of two of the sizes, when the first call needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from polygen.errors import OutOfMemory
from polygen.ir.kernel import Kernel
from polygen.python.region_kernels import RegionKernels, Scheduled
from polygen.runtime.resident_arrays import arrays_to_host

_Sizes: TypeAlias = Mapping[str, int]


@dataclass(frozen=True)
class Decision:
    """The place of a call.

    Attributes:
        on_device: whether it is the device.
        why: the numbers that this rests on.
        sizes: those of the call that it was made for.
    """

    on_device: bool
    why: str
    sizes: _Sizes

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {size}" for name, size in self.sizes.items())
        where = "on the device" if self.on_device else "on the processor"
        return f"{where} for sizes like {sizes}: {self.why}" if sizes else f"{where}: {self.why}"


# Of the kernel for the processor, what makes the one for the device, and sizes.
Choose: TypeAlias = Callable[[Kernel, Callable[[], Kernel], _Sizes], Decision]


class PlacedKernels:
    """The kernels of a block, on the processor and on a device.

    Parameters:
        on_host: those for the processor.
        on_device: makes those for the device, for the sizes of a call.
        choose: chooses between them.
        sizes: the sizes of the first call.

    Attributes:
        plain: the kernel as the statements say it.
        decisions: what was chosen, for which sizes.
    """

    def __init__(
        self,
        on_host: RegionKernels,
        on_device: Callable[[_Sizes], RegionKernels],
        choose: Choose,
        sizes: _Sizes,
    ) -> None:
        self.plain = on_host.plain
        self.decisions: list[Decision] = []
        self._host, self._make = on_host, on_device
        self._choose, self._integers = choose, tuple(sizes)
        self._device: RegionKernels | None = None
        self._chosen: dict[tuple[int, ...], bool] = {}
        self.first = self._on_device(sizes) if self._is_on_device(sizes) else on_host.first

    @property
    def scheduled(self) -> list[Scheduled]:
        """The kernels so far, as they are run, with what each is for."""
        on_device = [] if self._device is None else self._device.scheduled
        return [*self._host.scheduled, *on_device]

    def run(self, arguments: dict[str, Any]) -> object:
        """Run the kernel for the sizes among its arguments, where it takes the least time."""
        if self._is_on_device(arguments):
            try:
                return self._device_kernels(arguments).run(arguments)
            except OutOfMemory as error:
                self._decide(arguments, Decision(False, error.what, self._sizes(arguments)))
        arrays_to_host()
        return self._host.run(arguments)

    def _is_on_device(self, values: Mapping[str, Any]) -> bool:
        found = self._chosen.get(self._key(values))
        if found is None:
            sizes = self._sizes(values)
            decision = self._choose(self._host.of(sizes), lambda: self._on_device(sizes), sizes)
            found = self._decide(values, decision)
        return found

    def _decide(self, values: Mapping[str, Any], decision: Decision) -> bool:
        self.decisions.append(decision)
        self._chosen[self._key(values)] = decision.on_device
        return decision.on_device

    def _key(self, values: Mapping[str, Any]) -> tuple[int, ...]:
        return tuple([int(values[name]).bit_length() for name in self._integers])

    def _sizes(self, values: Mapping[str, Any]) -> dict[str, int]:
        return {name: int(values[name]) for name in self._integers}

    def _on_device(self, sizes: _Sizes) -> Kernel:
        return self._device_kernels(sizes).of(sizes)

    def _device_kernels(self, values: Mapping[str, Any]) -> RegionKernels:
        if self._device is None:
            self._device = self._make(self._sizes(values))
        return self._device
