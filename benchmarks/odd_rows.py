r"""Reductions over odd lengths on a GPU, beside PyTorch, and beside even lengths.

    python -m benchmarks.odd_rows                        # the whole list
    python -m benchmarks.odd_rows softmax rows           # parts of it
    python -m benchmarks.odd_rows --axes last            # all lengths but the last stay as they are
    python -m benchmarks.odd_rows softmax --only 4097 \
        --variant "share_rows threads=256 lanes=1" --variant "share_rows threads=512 lanes=1"
    python -m benchmarks.odd_rows --save found.json
    python -m benchmarks.odd_rows --table found.json     # of what was measured before

Each case of `benchmarks.reductions` is measured with even lengths, and with odd ones beside these;
softmax and layer norm with more lengths.  A case is slow if it takes more than 1.1 times PyTorch's
time at odd lengths, and not at even ones.  A variant is what `optimize_reductions` makes, with
other arguments of a step.  Times are taken as in `benchmarks.reductions`: on the device, from
replayed graphs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from benchmarks.on_gpu.cases import OF_ROWS, Case, Result, cases
from benchmarks.reductions import OURS, Times, measure

PEER, SLOW = "torch", 1.1
MORE_ROWS = (100, 1000, 2048, 4096, 50256)
Pair = tuple[Case, Case]
"""The same with even, and with odd lengths."""


def pairs(axes: str) -> list[Pair]:
    """Return all cases, with even and with odd lengths."""
    found: dict[str, Pair] = {}
    for case in [*cases(), *more_rows()]:
        even, odd = (with_lengths(case, axes, rest) for rest in (0, 1))
        found.setdefault(odd.key, (even, odd))
    return list(found.values())


def more_rows() -> Iterator[Case]:
    for operation in OF_ROWS:
        for dtype in ("float32", "float16"):
            for n in MORE_ROWS:
                result = Result(operation, "{a}", (2**26 // n, n), (1,))
                yield Case("softmax", "", {"a": dtype}, (result,))


def with_lengths(case: Case, axes: str, rest: int) -> Case:
    """Return a case with lengths that leave a rest, beside those it has."""
    results = tuple([replace(r, shape=beside(r.shape, axes, rest)) for r in case.results])
    shape = "x".join(map(str, results[0].shape))
    (first, *_) = results
    over = ",".join(map(str, first.axes))
    what = " and ".join(f"{r.operation} {r.element}" for r in results)
    name = f"{shape} over {over}, {what} of {next(iter(case.inputs.values()))}"
    return replace(case, name=name, results=results)


def beside(shape: tuple[int, ...], axes: str, rest: int) -> tuple[int, ...]:
    chosen = range(len(shape)) if axes == "every" else (len(shape) - 1,)
    return tuple([max(1, n - n % 2 + rest) if a in chosen else n for a, n in enumerate(shape)])


def ratio(times: Times, library: str) -> float | None:
    if not {library, PEER} <= set(times):
        return None
    return times[library][0] / times[PEER][0]


def table(chosen: Sequence[Pair], found: Mapping[str, Times], libraries: Sequence[str]) -> None:
    """Print a line for each case, and those that are slow at odd lengths alone."""
    ours = [x for x in libraries if x != PEER]
    heads = "".join(f" {x}, even | odd |" for x in ours)
    print(f"\n| odd case, times of PyTorch's | PyTorch, us |{heads}")
    print("| --- |" + " ---: |" * (1 + 2 * len(ours)))
    slow: list[str] = []
    for even, odd in chosen:
        one, two = (found.get(case.key, {}) for case in (even, odd))
        if PEER not in two:
            continue
        cells: list[str] = []
        for library in ours:
            ratios = [ratio(times, library) for times in (one, two)]
            cells += ["" if r is None else f"{r:.2f}" for r in ratios]
            if (ratios[1] or 0) > SLOW >= (ratios[0] or 0):
                slow.append(f"{library}, {odd.key}: {ratios[1]:.2f}, even {ratios[0] or 0:.2f}")
        line = f"| {odd.key} | {two[PEER][0] * 1e6:.1f} | {' | '.join(cells)} |"
        print(line, flush=True)
    print(f"\nslower than {SLOW} at odd lengths alone: {len(slow)}")
    print(*slow, sep="\n")


def able(chosen: Sequence[Pair]) -> list[Pair]:
    """Return what PyTorch can do."""
    peer = import_module("benchmarks.on_gpu.with_torch")
    return [p for p in chosen if all(peer.has(r.operation, p[1]) for r in p[1].results)]


def main() -> None:
    groups = list(dict.fromkeys(case.group for case in cases()))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="*", choices=[[], *groups], help="all, if not given")
    parser.add_argument("--axes", choices=("every", "last"), default="every", help="of odd length")
    parser.add_argument("--list", action="store_true", help="print what would be measured")
    parser.add_argument("--only", default="", help="those whose odd names match this expression")
    parser.add_argument("--odd", action="store_true", help="leave even lengths out")
    parser.add_argument("--variant", action="append", default=[], help="a step, and its arguments")
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 1) - 2))
    parser.add_argument("--rounds", type=int, default=7, help="times of which the median counts")
    parser.add_argument("--save", type=Path, help="where to write what was measured, as JSON")
    parser.add_argument("--table", type=Path, help="print what was measured before")
    given = parser.parse_args()
    chosen = [p for p in pairs(given.axes) if not given.groups or p[0].group in given.groups]
    chosen = [p for p in chosen if re.search(given.only, p[1].name)]
    if given.list:
        print(*(odd.key for _, odd in chosen), sep="\n")
        return
    if given.table:
        before = json.loads(given.table.read_text())
        table(chosen, before["times"], before["libraries"])
        return
    libraries = [OURS, *(f"{OURS}:{changed}" for changed in given.variant), PEER]
    chosen = able(chosen)
    each = {c.key: c for p in chosen for c in (p[1:] if given.odd else p)}
    found = measure(list(each.values()), libraries, given.processes, given.rounds)
    table(chosen, found, libraries)
    if given.save:
        kept = {"libraries": libraries, "axes": given.axes, "times": found}
        given.save.write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
