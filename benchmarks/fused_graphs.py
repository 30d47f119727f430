"""Random fused graphs on a GPU: polygen beside PyTorch, call by call and compiled.

    python -m benchmarks.fused_graphs                      # 100 graphs
    python -m benchmarks.fused_graphs --first 100 --count 50 --save found.json
    python -m benchmarks.fused_graphs --show 7             # what graph 7 is
    python -m benchmarks.fused_graphs --table found.json   # of what was measured before

Each has one to twelve element-wise operations and one to three reductions, over up to 2^22
elements, axes in every order, casts between float16, float32 and int32, broadcasts, and one or
several outputs.  polygen gets an instruction for each value, and `optimize_reductions`; PyTorch the
same operations, eager and through `torch.compile`, and decides how results lie in memory: polygen
writes them alike.  Results are compared with those in double
precision.  Times are medians, on the device, of replayed graphs of calls on different arrays.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from math import exp, log
from pathlib import Path

from benchmarks.on_gpu.graphs import Graph, polygen_text, python_text, random_graph
from benchmarks.on_gpu.turns import in_turns

Times = Mapping[str, float]


def table(chosen: Sequence[Graph], found: Mapping[str, Times]) -> None:
    """Print a line for each graph, and geometric means."""
    heads = ("graph", "extents", "values", "MB", "eager, us", "compiled, us", "polygen, us")
    print(f"\n| {' | '.join(heads)} | of the better |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    ratios: dict[str, list[float]] = {"eager": [], "compiled": [], "the better": []}
    for graph in chosen:
        times = found[graph.key]
        if len(times) < 3:
            print(f"| {graph.seed} | {graph.extents} | not made |")
            continue
        best = min(times["eager"], times["compiled"])
        for name, peer in (
            ("eager", times["eager"]),
            ("compiled", times["compiled"]),
            ("the better", best),
        ):
            ratios[name].append(peer / times["polygen"])
        shown = " | ".join(f"{times[name] * 1e6:.1f}" for name in ("eager", "compiled", "polygen"))
        extents = " x ".join(map(str, graph.extents))
        ours = f"{times['polygen'] / best:.2f}"
        size = f"{len(graph.values)} | {graph.moved / 1e6:.2f}"
        print(f"| {graph.seed} | {extents} | {size} | {shown} | {ours} |")
    for name, values in ratios.items():
        mean = exp(sum(map(log, values)) / len(values))
        slower = sum(1 for value in values if value < 1 / 1.1)
        rest = f"{slower} of {len(values)} above 1.1 of its time"
        print(f"beside {name}: {mean:.2f} times as fast; {rest}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 1) - 2))
    parser.add_argument("--show", type=int, help="print a graph")
    parser.add_argument("--save", type=Path, help="where to write what was measured, as JSON")
    parser.add_argument("--table", type=Path, help="print what was measured before")
    given = parser.parse_args()
    if given.show is not None:
        graph = random_graph(given.show)
        print(python_text(graph))
        print(*polygen_text(graph)[1], sep="\n")
        return
    if given.table:
        before = json.loads(given.table.read_text())
        table([random_graph(int(name)) for name in before], before)
        return
    from benchmarks.on_gpu.run_graphs import measure, prepare  # noqa: PLC0415  (PyTorch's part)

    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    chosen = [random_graph(seed) for seed in range(given.first, given.first + given.count)]
    found = in_turns(chosen, prepare, measure, given.processes)
    table(chosen, found)
    if given.save:
        given.save.write_text(json.dumps({graph.key: found[graph.key] for graph in chosen}) + "\n")


if __name__ == "__main__":
    main()
