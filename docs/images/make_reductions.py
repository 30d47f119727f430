"""Draw what `benchmarks/reductions.py --save docs/images/reductions.json` measured.

    python docs/images/make_reductions.py

Needs matplotlib.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

plt: Any = import_module("matplotlib.pyplot")

HERE = Path(__file__).parent
OURS, PEERS = "polygen", ("torch", "cupy", "cub")
NAMES = {"torch": "PyTorch", "cupy": "CuPy with CUB", "cub": "CUB"}
MARKS = {"torch": "o", "cupy": "s", "cub": "^"}
TICKS = (0.8, 1, 1.5, 2, 3, 4, 6, 8)
MOST = 8  # times: what is slower is drawn at the edge


def measured() -> dict[str, Any]:
    """Return the times of what polygen and a peer could do."""
    found: dict[str, Any] = json.loads((HERE / "reductions.json").read_text())
    found["times"] = {
        name: times for name, times in found["times"].items() if OURS in times and len(times) > 1
    }
    return found


def draw_peers(found: dict[str, Any]) -> None:
    """How many times as long as polygen's kernel each peer takes, for each shape."""
    shown = {n: t for n, t in found["times"].items() if not n.startswith("types")}
    names = list(shown)[::-1]
    figure, axes = plt.subplots(figsize=(8, 0.19 * len(names) + 1))
    for peer in PEERS:
        places = [place for place, name in enumerate(names) if peer in shown[name]]
        ratios = [shown[names[p]][peer][0] / shown[names[p]][OURS][0] for p in places]
        bounded = [min(ratio, MOST) for ratio in ratios]
        axes.plot(bounded, places, MARKS[peer], label=NAMES[peer], markersize=4)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_xticks(
        [0.8, 1, 1.5, 2, 3, 4, 6, 8], ["0.8", "1", "1.5", "2", "3", "4", "6", "8 and more"]
    )
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), [name.partition(": ")[2] for name in names], fontsize=6)
    axes.set_ylim(-1, len(names))
    axes.set_xlabel(f"time of the library / time of polygen's kernel ({found['device']})")
    axes.grid(axis="x", linewidth=0.3)
    axes.legend(loc="lower right", fontsize=7)
    save(figure, "reductions_peers.svg")


def draw_bandwidth(found: dict[str, Any]) -> None:
    """At what rate sums of all of an array read it, by its size."""
    sums = {n: t for n, t in found["times"].items() if n.startswith("all: 2^")}
    sizes = [4 * 2 ** int(name.split("^")[1].split()[0]) for name in sums]
    figure, axes = plt.subplots(figsize=(8, 3.5))
    for library in (OURS, *PEERS):
        rates = [n / t[library][0] / 1e12 for n, t in zip(sizes, sums.values(), strict=True)]
        label = NAMES.get(library, library)
        axes.plot(sizes, rates, "D-" if library == OURS else f"{MARKS[library]}--", label=label)
    axes.axhline(found["copied"] / 1e12, color="black", linewidth=1, linestyle=":")
    axes.text(sizes[0], found["copied"] / 1e12 * 1.05, "copy on the device", fontsize=8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes that are added up")
    axes.set_ylabel("TB/s")
    axes.grid(linewidth=0.3)
    axes.legend(fontsize=8)
    save(figure, "reductions_bandwidth.svg")


def save(figure: Any, name: str) -> None:
    """Write a picture beside this file."""
    figure.tight_layout()
    figure.savefig(HERE / name, metadata={"Date": None})


if __name__ == "__main__":
    plt.rcParams.update({"svg.hashsalt": "polygen", "svg.fonttype": "none"})
    draw_peers(measured())
    draw_bandwidth(measured())
