"""Whether results are right: PyTorch's in double precision, or of 64-bit integers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from benchmarks.on_gpu.cases import OF_ROWS, Case, Result
from benchmarks.on_gpu.with_torch import element

torch: Any = import_module("torch")


def random_inputs(case: Case, count: int) -> list[dict[str, Any]]:
    """Return several sets of random arrays."""
    return [{name: random_array(case, name) for name in case.inputs} for _ in range(count)]


def random_array(case: Case, name: str) -> Any:
    shape, dtype = case.shape_of(name), case.inputs[name]
    if dtype == "bool":
        return torch.rand(shape, device="cuda") < 0.5
    if "int" in dtype:
        numbers = torch.randint(0, 100, shape, dtype=torch.uint8, device="cuda")
        return numbers.to(getattr(torch, dtype))
    numbers = torch.empty(shape, dtype=torch.float32, device="cuda").uniform_(-1, 1)
    if case.results[0].operation == "product":  # which should neither vanish nor overflow
        numbers = torch.exp(1e-3 * numbers)
    return numbers.to(getattr(torch, dtype))


def wrong(result: Result, arrays: dict[str, Any], found: Any) -> float:
    """Return the largest error, in terms of what may be expected: right if at most 1."""
    x = element(result, arrays)
    if result.operation.startswith("arg"):
        return wrong_place(result, x, torch.as_tensor(found, device="cuda"))
    rounded = ("sum", "product", *OF_ROWS)
    exact = not x.dtype.is_floating_point or result.operation not in rounded
    found = torch.as_tensor(found, device="cuda").reshape(-1)
    wanted = expected(result, x).reshape(-1)
    if exact:
        return 0.0 if bool((found.to(wanted.dtype) == wanted).all()) else 2.0
    if result.operation == "product":
        scale = 3 * x.numel() ** 0.5 * wanted.abs()  # as errors of single steps add up
    elif result.operation in OF_ROWS:
        scale = torch.ones_like(wanted)
    else:
        scale = torch.sum(x.abs(), result.axes, dtype=torch.float64).reshape(-1)
    unit = max(1e-6, float(torch.finfo(found.dtype).eps)) * (wanted.abs() + 1e-30)
    return float(((found.double() - wanted).abs() / (8 * unit + 2e-6 * scale)).max())


def wrong_place(result: Result, x: Any, found: Any) -> float:
    """Return 0 if the elements at some places are the extreme ones: of equal ones, any will do."""
    x, (axis,) = signed(x), result.axes
    places = found.to(torch.int64).reshape([1 if a == axis else n for a, n in enumerate(x.shape)])
    best = getattr(torch, f"a{result.operation[3:]}")(x, axis, keepdim=True)
    return 0.0 if bool((torch.gather(x, axis, places) == best).all()) else 2.0


def expected(result: Result, x: Any) -> Any:
    """Return the result in the widest type."""
    axes = result.axes
    wide = torch.float64 if x.dtype.is_floating_point else torch.int64
    match result.operation:
        case "sum":
            return torch.sum(x, axes, dtype=wide)
        case "product":
            return torch.prod(x, axes[0], dtype=wide)
        case "min" | "max":
            return getattr(torch, f"a{result.operation}")(signed(x), axes)
        case "softmax":
            return torch.softmax(x.double(), axes[0])
        case "layer_norm":
            return torch.nn.functional.layer_norm(x.double(), x.shape[1:])
        case "any" | "all":
            return getattr(torch, result.operation)(signed(x) != 0, axes)
        case "bit_and" | "bit_or" | "bit_xor" as operation:
            return combined_bits(operation, signed(x).to(torch.int64), axes)
        case other:
            raise NotImplementedError(other)


def combined_bits(operation: str, x: Any, axes: tuple[int, ...]) -> Any:
    """Return numbers of 64 bits, each bit of which is that of all numbers combined."""
    total = 0
    for bit in range(64):
        ones = ((x >> bit) & 1).sum(axes)
        count = x.numel() // ones.numel()
        found = {"bit_and": ones == count, "bit_or": ones > 0, "bit_xor": ones % 2 == 1}
        total = total | (found[operation].to(torch.int64) << bit)
    return total


def signed(x: Any) -> Any:
    """Return unsigned numbers as signed ones: PyTorch cannot compare the former."""
    unsigned = {torch.uint16, torch.uint32, torch.uint64, torch.bool}
    return x.to(torch.int64) if x.dtype in unsigned else x
