"""Draw what `benchmarks/model_checked.py --save docs/images/model_checked.json` found.

    python docs/images/make_model_checked.py

Needs matplotlib.
"""

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

plt: Any = import_module("matplotlib.pyplot")

HERE = Path(__file__).parent
MARKS = "os^"
GOAL = 1.5  # times what was predicted, or its inverse


def main() -> None:
    """Draw measured times over forecasts, and print the table."""
    found: dict[str, Any] = json.loads((HERE / "model_checked.json").read_text())
    plt.rcParams.update({"svg.hashsalt": "polygen", "svg.fonttype": "none"})
    figure, axes = plt.subplots(figsize=(7, 5.5))
    ends = []
    for (where, rows), mark in zip(found.items(), MARKS, strict=False):
        known = [row for row in rows if row["predicted"] is not None]
        x, y = ([1e3 * row[name] for row in known] for name in ("predicted", "measured"))
        axes.plot(x, y, mark, label=where, markersize=5, alpha=0.8)
        ends += [*x, *y]
        for row in rows:
            shown = (
                "depends on data" if row["predicted"] is None else f"{1e3 * row['predicted']:.3g}"
            )
            ratio = "" if row["predicted"] is None else f"{row['measured'] / row['predicted']:.2f}"
            line = f"| {where} | {row['name']} | {shown} | {1e3 * row['measured']:.3g} | {ratio} |"
            sys.stdout.write(f"{line}\n")
    span = [min(ends) / 2, max(ends) * 2]
    axes.plot(span, span, color="black", linewidth=1)
    for factor in (GOAL, 1 / GOAL):
        axes.plot(span, [factor * end for end in span], ":", color="gray", linewidth=1)
    axes.set(xscale="log", yscale="log", xlim=span, ylim=span)
    axes.set_xlabel("forecast, ms")
    axes.set_ylabel("measured, ms")
    axes.legend(title=f"dotted: {GOAL} times")
    figure.tight_layout()
    figure.savefig(HERE / "model_checked.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
