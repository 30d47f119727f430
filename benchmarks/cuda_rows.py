"""Softmax and layer normalisation of rows on a GPU, beside PyTorch's and beside a copy.

    python benchmarks/cuda_rows.py [softmax] [layer_norm] [float32] [float16]

It prints a table: what the recipes of `examples/` take on the device, launches replayed as a graph,
what torch.softmax and torch.nn.functional.layer_norm take, and a copy of as many bytes.  Inputs are
of 2**26 elements, more than caches hold; each call has one of two sets of arrays.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]
timing: Any = import_module("benchmarks.on_gpu.timing")
torch: Any = timing.torch

ELEMENTS, SETS = 2**26, 2
LENGTHS = (128, 1024, 8192, 65536, 262144)
TYPES = {"float32": torch.float32, "float16": torch.float16}
TOLERANCE = {"float32": 1e-5, "float16": 4e-3}


def cases(kind: str, m: int, dtype: str) -> list[tuple[dict[str, Any], Any]]:
    """Return arguments of calls, and what PyTorch does with each."""
    found: list[tuple[dict[str, Any], Any]] = []
    for seed in range(SETS):
        random = torch.Generator(device="cuda").manual_seed(seed)

        def normal(*shape: int, random: Any = random) -> Any:
            return torch.randn(shape, device="cuda", dtype=TYPES[dtype], generator=random)

        x = normal(ELEMENTS // m, m)
        given = {"x": x, "y": torch.empty_like(x)}
        if kind == "softmax":
            found.append((given, lambda x=x: torch.softmax(x, 1)))
            continue
        weight, bias = normal(m), normal(m)
        norm = torch.nn.functional.layer_norm
        given |= {"weight": weight, "bias": bias}
        found.append((given, lambda x=x, w=weight, b=bias: norm(x, (m,), w, b)))
    return found


def line(kind: str, m: int, dtype: str, stream: Any) -> str:
    run = import_module(kind).recipe(m, dtype).executor("cuda")
    calls = cases(kind, m, dtype)
    run(**calls[0][0])
    y, expected = calls[0][0]["y"], calls[0][1]()
    scale = float(expected.abs().max())
    worst = float((y - expected).abs().max()) / scale
    assert worst < TOLERANCE[dtype], (kind, m, dtype, worst)
    del expected
    times = [
        timing.device_time(each, stream) * 1e6
        for each in (
            [lambda given=given: run(**given) for given, _ in calls],
            [peer for _, peer in calls],
            [lambda given=given: given["y"].copy_(given["x"]) for given, _ in calls],
        )
    ]
    ours, theirs, copy = times
    numbers = f"{ours:.1f} | {theirs:.1f} | {copy:.1f} | {theirs / ours:.2f} | {copy / ours:.2f}"
    return f"| {kind} | {dtype} | {m} | {numbers} |"


def main() -> None:
    asked = sys.argv[1:]
    kinds = [k for k in ("softmax", "layer_norm") if k in asked or not {*asked} - TYPES.keys()]
    print(
        "| of | type | row | polygen, us | PyTorch, us | copy, us | PyTorch / polygen | copy / polygen |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    stream = timing.Stream()
    for kind in kinds:
        for dtype in [t for t in TYPES if t in asked or not {*asked} & TYPES.keys()]:
            for m in LENGTHS:
                print(line(kind, m, dtype, stream), flush=True)


if __name__ == "__main__":
    main()
