"""Softmax and layer normalisation of rows on a GPU, beside PyTorch's and beside a copy.

    python -m benchmarks.cuda_rows [softmax] [layer_norm] [float32] [float16]

It prints a table: what the recipes of `examples/` take on the device, launches replayed as a graph,
what torch.softmax and torch.nn.functional.layer_norm take, and a copy of as many bytes.  Inputs are
of 2**26 elements, more than caches hold; each call has one of two sets of arrays.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from benchmarks.on_gpu.timing import Stream, device_time, torch
from examples import layer_norm, softmax

RECIPES: dict[str, Any] = {"softmax": softmax.recipe, "layer_norm": layer_norm.recipe}
ELEMENTS, SETS = 2**26, 2
LENGTHS = (128, 1024, 8192, 65536, 262144)
TYPES = {"float32": torch.float32, "float16": torch.float16}
TOLERANCE = {"float32": 1e-5, "float16": 4e-3}
HEAD = "of | type | row | polygen, us | PyTorch, us | copy, us | PyTorch / polygen | copy / polygen"


def cases(kind: str, m: int, dtype: str) -> list[tuple[dict[str, Any], Any]]:
    """Return arguments of calls, and what PyTorch does with each."""
    found: list[tuple[dict[str, Any], Any]] = []
    for seed in range(SETS):
        normal = partial(
            torch.randn,
            device="cuda",
            dtype=TYPES[dtype],
            generator=torch.Generator(device="cuda").manual_seed(seed),
        )
        x = normal(ELEMENTS // m, m)
        given = {"x": x, "y": torch.empty_like(x)}
        if kind == "softmax":
            found.append((given, partial(torch.softmax, x, 1)))
        else:
            given |= {"weight": normal(m), "bias": normal(m)}
            norm = torch.nn.functional.layer_norm
            found.append((given, partial(norm, x, (m,), given["weight"], given["bias"])))
    return found


def line(kind: str, m: int, dtype: str, stream: Stream) -> str:
    run = RECIPES[kind](m, dtype).executor("cuda")
    calls = cases(kind, m, dtype)
    given, peer = calls[0]
    run(**given)
    expected = peer()
    worst = float((given["y"] - expected).abs().max() / expected.abs().max())
    assert worst < TOLERANCE[dtype], (kind, m, dtype, worst)
    del expected
    ours, theirs, copy = (
        1e6 * device_time(each, stream)
        for each in (
            [partial(run, **given) for given, _ in calls],
            [peer for _, peer in calls],
            [partial(given["y"].copy_, given["x"]) for given, _ in calls],
        )
    )
    numbers = f"{ours:.1f} | {theirs:.1f} | {copy:.1f} | {theirs / ours:.2f} | {copy / ours:.2f}"
    return f"| {kind} | {dtype} | {m} | {numbers} |"


def main() -> None:
    asked = {*sys.argv[1:]}
    stream = Stream()
    print(f"| {HEAD} |")
    print("| --- | --- " + "| ---: " * 6 + "|")
    for kind in [k for k in RECIPES if k in asked or asked.isdisjoint(RECIPES)]:
        for dtype in [t for t in TYPES if t in asked or asked.isdisjoint(TYPES)]:
            for m in LENGTHS:
                print(line(kind, m, dtype, stream), flush=True)


if __name__ == "__main__":
    main()
