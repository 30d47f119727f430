"""Draw how much longer the best peer takes than polygen, for all that docs/benchmarks.md has.

    python docs/images/make_comparisons.py

It also writes the first table of docs/comparisons.md.  Needs matplotlib.  All figures are read from
the tables of docs/benchmarks.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import geometric_mean
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "benchmarks.md"
SUMMARY = HERE.parent / "comparisons.md"
HEAD = "| what | best of | cases | mean | least | most | at least as fast | script | where |\n"
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
LEAST, MOST = 0.25, 16  # what is beyond is drawn at the edge


def number(cell: str) -> float | None:
    """Return the first number of a cell, None if there is none."""
    found = _NUMBER.search(cell)
    return None if found is None else float(found[0])


def best(*peers: str) -> Callable[[dict[str, str]], float | None]:
    """Return what finds the time of the fastest of some peers, in terms of polygen's."""

    def ratio(row: dict[str, str]) -> float | None:
        ours = number(row["polygen"])
        times = [t for t in (number(row[p]) for p in peers) if t is not None]
        return min(times) / ours if ours and times else None

    return ratio


def inverse(column: str) -> Callable[[dict[str, str]], float | None]:
    """Return what reads a column with polygen's time in terms of the best peer's.

    Of several runs, the worst counts.
    """

    def ratio(row: dict[str, str]) -> float | None:
        found = [float(x) for x in _NUMBER.findall(row[column])]
        return 1 / max(found) if found else None

    return ratio


def quotient(first: str, second: str) -> Callable[[dict[str, str]], float | None]:
    """Return what divides one column by another one."""

    def ratio(row: dict[str, str]) -> float | None:
        over, under = number(row[first]), number(row[second])
        return over / under if over and under else None

    return ratio


@dataclass(frozen=True)
class Family:
    """Cases that are compared with the same peers on the same device.

    Attributes:
        title: what they are.
        peers: with what they are compared: with the best of these.
        heading: the section of the page.
        table: which of its tables, from 0.
        ratio: the time of the peer in terms of polygen's, from a row; None if it has none.
        script: what measured it, in `benchmarks`.
        where: the device.
    """

    title: str
    peers: str
    heading: str
    table: int
    ratio: Callable[[dict[str, str]], float | None]
    script: str
    where: str


GPU, TWO, SIXTEEN = "H200", "2 cores of an Intel Sapphire Rapids", "16 of these"
FAMILIES = (
    Family(
        "code generation, with proofs",
        "Loo.py",
        "Transforming and generating code",
        0,
        inverse("ratio, proved"),
        "code_generation.py",
        "2 cores of an AMD EPYC",
    ),
    Family(
        "GPU: products of matrices, float32",
        "cuBLAS",
        "Products of matrices on a GPU",
        0,
        inverse("ratio of times"),
        "cuda_product.py",
        GPU,
    ),
    Family(
        "GPU: streaming",
        "a copy",
        "Streaming kernels on a GPU",
        0,
        inverse("CUDA"),
        "cuda_streaming.py",
        GPU,
    ),
    Family(
        "GPU: softmax, layer normalisation",
        "PyTorch",
        "Softmax and layer normalisation on a GPU",
        0,
        quotient("PyTorch, us", "polygen, us"),
        "cuda_rows.py",
        GPU,
    ),
    Family(
        "GPU: reductions",
        "PyTorch, CuPy, CUB",
        "Reductions on a GPU",
        0,
        inverse("ours / best"),
        "reductions.py",
        GPU,
    ),
    Family(
        "GPU: fused graphs",
        "PyTorch, eager and compiled",
        "Fused graphs on a GPU",
        0,
        inverse("of the better"),
        "fused_graphs.py",
        GPU,
    ),
    Family(
        "GPU: scans, histograms, sparse rows",
        "PyTorch, CuPy",
        "Scans, histograms, sums by labels and sparse rows on a GPU",
        0,
        best("torch", "CuPy"),
        "cuda_segmented.py",
        GPU,
    ),
    Family(
        "GPU: small products, n bodies, elements",
        "Loo.py, OpenCL",
        "Batched products, the Coulomb potential and finite elements on a GPU",
        0,
        quotient("OpenCL", "Loo.py"),
        "bound.py",
        GPU,
    ),
    Family(
        "CPU: kernels, 1 thread",
        "NumPy, Numba, DaCe, JAX",
        "Kernels on processors",
        0,
        inverse("ratio"),
        "cpu_kernels.py",
        TWO,
    ),
    Family(
        "CPU: kernels, 16 cores",
        "NumPy, Numba, DaCe, JAX",
        "Kernels on processors",
        1,
        inverse("ratio"),
        "cpu_kernels.py",
        SIXTEEN,
    ),
    Family(
        "CPU: reductions, 1 thread",
        "NumPy, Numba",
        "Reductions on processors",
        1,
        inverse("ratio"),
        "cpu_reductions.py",
        TWO,
    ),
    Family(
        "CPU: reductions, 16 cores",
        "NumPy, Numba",
        "Reductions on processors",
        0,
        inverse("ratio"),
        "cpu_reductions.py",
        SIXTEEN,
    ),
)


def tables(text: str, heading: str) -> list[list[dict[str, str]]]:
    """Return the tables of a section: rows, each with its cells by the names of the columns.

    Of columns with one name, the first counts.
    """
    section = re.split(r"^## ", text.partition(f"\n## {heading}\n")[2], flags=re.MULTILINE)[0]
    found: list[list[dict[str, str]]] = []
    for block in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE):
        head, _, *rows = (
            [c.strip() for c in line.strip("|").split("|")] for line in block.split("\n")[:-1]
        )
        found.append([dict(zip(reversed(head), reversed(row), strict=True)) for row in rows])
    return found


def measured(text: str) -> dict[Family, list[float]]:
    """Return how many times as long as polygen the best peer took, for each family."""
    return {
        family: [
            ratio
            for row in tables(text, family.heading)[family.table]
            if (ratio := family.ratio(row)) is not None
        ]
        for family in FAMILIES
    }


def summary(found: dict[Family, list[float]]) -> str:
    """Return the table with a row for each family."""
    lines = [HEAD, "| --- | --- | " + "---: | " * 5 + "--- | --- |\n"]
    for family, ratios in found.items():
        shown = " | ".join(f"{x:.2f}" for x in (geometric_mean(ratios), min(ratios), max(ratios)))
        fast = sum(r >= 1 for r in ratios)
        script = f"[{family.script}](../benchmarks/{family.script})"
        lines.append(
            f"| {family.title} | {family.peers} | {len(ratios)} | {shown} | {fast} | {script} "
            f"| {family.where} |\n"
        )
    return "".join(lines)


def with_summary(page: str, table: str) -> str:
    """Return a page with another table in the place of the one that begins with `HEAD`."""
    before, _, after = page.partition(HEAD)
    rest = re.sub(r"\A(?:\|.*\n)+", "", after)
    return before + table + rest


def draw(found: dict[Family, list[float]]) -> None:
    """Draw a line for each family, with a point for each case."""
    plt: Any = import_module("matplotlib.pyplot")
    plt.rcParams.update({"svg.hashsalt": "polygen", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(8, 0.42 * len(found) + 1))
    for place, ratios in enumerate(reversed(found.values())):
        bounded = [min(max(r, LEAST), MOST) for r in ratios]
        axes.plot(bounded, [place] * len(ratios), "o", color="tab:blue", alpha=0.4, markersize=5)
        mean = geometric_mean(ratios)
        axes.plot([min(mean, MOST)], [place], "|", color="black", markersize=14)
    labels = [f"{f.title}\n({f.peers})" for f in reversed(found)]
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    ticks = {0.25: "1/4 and less", 0.5: "1/2", 1: "1", 2: "2", 4: "4", 8: "8", 16: "16 and more"}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.minorticks_off()
    axes.set_yticks(range(len(labels)), labels, fontsize=7)
    axes.set_ylim(-0.7, len(labels) - 0.3)
    axes.set_xlabel("time of the best peer / time of polygen; right of 1, polygen is faster")
    axes.grid(axis="x", linewidth=0.3)
    figure.tight_layout()
    figure.savefig(HERE / "comparisons.svg", metadata={"Date": None})


if __name__ == "__main__":
    ratios = measured(PAGE.read_text())
    draw(ratios)
    SUMMARY.write_text(with_summary(SUMMARY.read_text(), summary(ratios)))
