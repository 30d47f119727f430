"""`polygen.Limits`: what a device can do at most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from numbers import Real

from polygen.errors import InvalidArgument, did_you_mean
from polygen.ir.dtype import is_inexact, to_dtype
from polygen.ir.empty import new_dict
from polygen.ir.public import public_class
from polygen.runtime.backends.cuda import cuda_driver
from polygen.source import caller_location

_CLUSTER, _HOPPER = 8, 9  # groups that every device of this compute capability has in a cluster
# Operations that the tensor cores of a multiprocessor begin in a cycle, by compute capability.
_TENSOR_CORES: Mapping[tuple[int, int], Mapping[str, int]] = {
    (8, 0): {"float64": 128, "float16": 2048, "bfloat16": 2048, "tf32": 1024},
    (9, 0): {"float64": 256, "float16": 4096, "bfloat16": 4096, "tf32": 2048},
}
_LANES = 128  # additions of float32 that a multiprocessor of NVIDIA's begins in a cycle, since 2020


@public_class
@dataclass(frozen=True)
class Limits:
    """The peak rates and sizes of a device.

    The first two are all that `roofline` asks for.  `optimize_reductions` needs `compute_units`,
    too; what else there is has the values of NVIDIA's GPUs, from 2020 on.

    Attributes:
        bytes_per_second: to and from global memory.
        operations_per_second: for types by name, as ``{"float32": 60e12}``; or one number, for all
            floating-point types.  A multiplication that is added to something is two operations.
        compute_units: how many there are that groups are spread over: multiprocessors.
        items_per_unit: how many work items one of these holds at once.
        items_per_group: how many work items a group may have.
        cluster_groups: how many groups of CUDA's may be one cluster, and share local memory.
        local_bytes: how much local memory a group may have, in bytes; of processors, the
            second-level cache of a core.
        cache_bytes: how much of global memory the cache that all units share may hold.
        latency_seconds: from when an element of global memory is asked for to when it is there.
        launch_seconds: from the end of a launch to the beginning of the next one.
        atomic_seconds: from one atomic update of an element to the next one of the same element.
        local_bytes_per_second: from the local memory of all groups together; None if not known.
        cache_bytes_per_second: to and from the cache that all units share; None if not known.
        tensor_operations_per_second: of tensor cores, by the type of what they multiply: a type's
            name, or ``tf32``; nothing if there are none.

    >>> import polygen as pg
    >>> pg.Limits.named("H200").compute_units
    132
    """

    bytes_per_second: float
    operations_per_second: float | Mapping[str, float]
    compute_units: int | None = None
    items_per_unit: int = 2048
    items_per_group: int = 1024
    cluster_groups: int = 1
    local_bytes: int = 48 * 1024
    cache_bytes: int = 40 * 2**20
    latency_seconds: float = 8e-7
    launch_seconds: float = 1e-6
    atomic_seconds: float = 1e-9
    local_bytes_per_second: float | None = None
    cache_bytes_per_second: float | None = None
    tensor_operations_per_second: Mapping[str, float] = field(default_factory=new_dict)

    def __post_init__(self) -> None:
        rates = self.operations_per_second
        named = rates if isinstance(rates, Mapping) else {"float32": rates}
        on_cores = self.tensor_operations_per_second
        for name in (*named, *(name for name in on_cores if name != "tf32")):
            to_dtype(name)
        for rate in (self.bytes_per_second, *named.values(), *on_cores.values()):
            if not is_rate(rate):
                raise InvalidArgument(
                    f"{rate!r} is no rate of a device",
                    where=caller_location(),
                    remedy="pass positive numbers: Limits(3e12, {'float32': 60e12})",
                )
        for each in fields(self)[2:-1]:
            value = getattr(self, each.name)
            known = value is not None or each.default is not None
            if known and not is_rate(value):
                raise InvalidArgument(
                    f"{each.name}={value!r} is no limit of a device",
                    where=caller_location(),
                    remedy=f"pass a positive number: Limits(..., {each.name}={each.default!r})",
                )

    def rate_of(self, dtype: str) -> float | None:
        """Return how many operations of a type there are in a second; None if it is no limit."""
        rates = self.operations_per_second
        if isinstance(rates, Mapping):
            return rates.get(dtype)
        return rates if is_inexact(to_dtype(dtype)) else None

    @classmethod
    def named(cls, name: str) -> Limits:
        """Return the limits of a device by its name: ``"A100"``, ``"H100"``, ``"H200"``.

        Raises:
            InvalidArgument: if that is none of the devices that are known.
        """
        if name not in _KNOWN:
            raise InvalidArgument(
                f"no device is known by the name {name!r}",
                where=caller_location(),
                remedy=f"{did_you_mean(str(name), _KNOWN)}; Limits.of_device() asks the driver",
            )
        return _KNOWN[name]

    @classmethod
    def of_device(cls) -> Limits:
        """Return the limits of CUDA's current device, as the driver states them.

        That is what memory and units could do by their clocks; a copy reaches about nine tenths.

        Raises:
            NoDevice: if there is none, or no library for it.
        """
        cuda = cuda_driver.driver()
        device = cuda.device()

        def asked(name: str) -> int:
            return cuda.attribute(name, device)

        units = asked("MULTIPROCESSOR_COUNT")
        # Two transfers a cycle; the clocks are in kHz, the width in bits.
        moved = 2 * 1e3 * asked("MEMORY_CLOCK_RATE") * asked("GLOBAL_MEMORY_BUS_WIDTH") / 8
        cycles = units * 1e3 * asked("CLOCK_RATE")
        singles = 2 * _LANES * cycles
        capability = asked("COMPUTE_CAPABILITY_MAJOR"), asked("COMPUTE_CAPABILITY_MINOR")
        on_cores = _TENSOR_CORES.get(capability, {})
        return cls(
            moved,
            {"float32": singles},
            units,
            items_per_unit=asked("MAX_THREADS_PER_MULTIPROCESSOR"),
            items_per_group=asked("MAX_THREADS_PER_BLOCK"),
            cluster_groups=_CLUSTER if capability[0] >= _HOPPER else 1,
            local_bytes=asked("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            cache_bytes=asked("L2_CACHE_SIZE"),
            tensor_operations_per_second={kind: n * cycles for kind, n in on_cores.items()},
        )


def is_rate(given: object) -> bool:
    """Tell whether something is a positive number."""
    return isinstance(given, Real) and float(given) > 0


# From NVIDIA's data sheets, SXM; what groups may have, from the CUDA C++ programming guide.
_HOPPERS = {"float64": 67e12, "float16": 989e12, "bfloat16": 989e12, "tf32": 494e12}
_KNOWN = {
    "A100": Limits(
        2.039e12,
        {"float32": 19.5e12, "float64": 9.7e12},
        108,
        local_bytes=163 * 1024,
        cache_bytes=40 * 2**20,
        tensor_operations_per_second={
            "float64": 19.5e12,
            "float16": 312e12,
            "bfloat16": 312e12,
            "tf32": 156e12,
        },
    ),
    "H100": Limits(
        3.35e12,
        {"float32": 67e12, "float64": 34e12},
        132,
        cluster_groups=_CLUSTER,
        local_bytes=227 * 1024,
        cache_bytes=50 * 2**20,
        tensor_operations_per_second=_HOPPERS,
    ),
    "H200": Limits(
        4.8e12,
        {"float32": 67e12, "float64": 34e12},
        132,
        cluster_groups=_CLUSTER,
        local_bytes=227 * 1024,
        cache_bytes=60 * 2**20,
        tensor_operations_per_second=_HOPPERS,
    ),
}
