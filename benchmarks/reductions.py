"""Reductions on a GPU: polygen beside PyTorch, CuPy with CUB, and CUB itself.

    python -m benchmarks.reductions                       # the whole list
    python -m benchmarks.reductions all rows columns      # parts of it
    python -m benchmarks.reductions --list                # which there are
    python -m benchmarks.reductions all --save found.json
    python -m benchmarks.reductions --table found.json    # of what was measured before
    python -m benchmarks.reductions sub-graphs --generate # how long code generation takes

Processes share the cases, generate and compile everything, and check results against sums in
double precision; then they take turns, so that one call at a time is on the device.  Times are
medians, in microseconds: on the device, from replayed graphs of calls on different arrays (several
times what its cache holds, where there are not too many), and in brackets on the host, from one
call to the next.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from math import exp, log
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.on_gpu.cases import Case, cases

OURS = "polygen"
LIBRARIES = (OURS, "torch", "cupy", "cub")
PEERS = LIBRARIES[1:]
BEYOND_CACHE, MOST_SETS = 2**28, 128  # bytes of all inputs, and how many sets there are at most
Times = dict[str, tuple[float, float]]
"""Seconds on the device and on the host, by library."""


# --- in a process that has a part of the cases


def work(
    part: Sequence[Case], libraries: Sequence[str], rounds: int, ready: Any, turn: Any, told: Any
) -> None:
    """Prepare and check all cases; when all processes have, measure them, one after the other."""
    right = import_module("benchmarks.on_gpu.right")
    timing: Any = import_module("benchmarks.on_gpu.timing")
    timing.ROUNDS = rounds
    able: dict[str, list[str]] = {}
    for case in part:
        (arrays,) = right.random_inputs(case, 1)
        able[case.key] = [x for x in libraries if prepared(x, case, arrays, right, told)]
        del arrays
        right.torch.cuda.empty_cache()
    ready.wait()
    for case in part:
        with turn:
            told.put((case.key, measured(case, able[case.key], right)))
            right.torch.cuda.empty_cache()


def prepared(library: str, case: Case, arrays: Mapping[str, Any], right: Any, told: Any) -> bool:
    """Tell whether a library can do a case; raise an error if ours does it wrong."""
    try:
        call = module(library).bind(case, arrays)
        if call is None:
            return False
        found = call()
        errors = [right.wrong(r, arrays, x) for r, x in zip(case.results, found, strict=False)]
    except Exception as error:  # of a class of any library's: it is told
        told.put((case.key, f"{library}: {type(error).__name__}: {error}".splitlines()[0]))
        return False
    if not max(errors) <= 1:
        told.put((case.key, f"{library} is wrong: {max(errors):.1e} of what is permitted"))
    return bool(max(errors) <= 1)


def module(library: str) -> Any:
    """Return what binds calls; of ours, also with other arguments of a step, after a colon."""
    name, _, changed = library.partition(":")
    found = import_module(f"benchmarks.on_gpu.with_{name}")
    return found.varied(changed) if changed else found


def measured(case: Case, libraries: Iterable[str], right: Any) -> Times:
    """Return each library's times."""
    timing = import_module("benchmarks.on_gpu.timing")
    count = max(2, min(MOST_SETS, BEYOND_CACHE // case.read))
    sets = right.random_inputs(case, count)
    stream = timing.Stream()
    found: Times = {}
    for library in libraries:
        calls = [module(library).bind(case, arrays) for arrays in sets]
        device = timing.device_time(calls, stream)
        found[library] = (device, timing.wall_time(calls, stream))
    return found


# --- in the main process


def measure(
    chosen: Sequence[Case], libraries: Sequence[str], processes: int, rounds: int
) -> dict[str, Times]:
    """Return the times of all cases, and print what could not be done."""
    context = get_context("spawn")
    turn, told = context.Lock(), context.Queue()
    count = min(processes, len(chosen))
    ready = context.Barrier(count)
    parts = [chosen[k::count] for k in range(count)]
    workers = [
        context.Process(target=work, args=(part, libraries, rounds, ready, turn, told), daemon=True)
        for part in parts
    ]
    for worker in workers:
        worker.start()
    found: dict[str, Times] = {}
    while len(found) < len(chosen):
        name, what = told.get()
        if isinstance(what, str):
            print(f"{name}: {what}", flush=True)
            continue
        found[name] = what
        short = " ".join(f"{x} {device * 1e6:.1f}" for x, (device, _) in what.items())
        print(f"{name}: {short}", flush=True)
    return found


def table(chosen: Sequence[Case], found: Mapping[str, Times], copied: float) -> None:
    """Print a line for each case, and geometric means."""
    print(f"\ncopy on the device: {copied / 1e12:.2f} TB/s\n")
    heads = "".join(f" {library} |" for library in LIBRARIES)
    print(f"| us |{heads} ours / best | of a copy's bandwidth |")
    print("| --- |" + " --- |" * (len(LIBRARIES) + 2))
    for case in chosen:
        if case.key in found and case.group != "types":
            print(line(case, found[case.key], copied), flush=True)
    by_type([c for c in chosen if c.group == "types" and c.key in found], found)
    for peer in PEERS:
        means(peer, [times for case in chosen if (times := found.get(case.key))])


def by_type(chosen: Sequence[Case], found: Mapping[str, Times]) -> None:
    """Print our time over the best peer's: a line for each type, shapes side by side."""
    operations = list(dict.fromkeys(case.results[0].operation for case in chosen))
    if operations:
        print(f"\n| type | {' | '.join(operations)} |\n| --- |" + " --- |" * len(operations))
    for dtype in dict.fromkeys(case.inputs["a"] for case in chosen):
        cells: dict[str, list[str]] = {operation: [] for operation in operations}
        for case in chosen:
            if case.inputs["a"] == dtype:
                times = found.get(case.key, {})
                best = min((times[x][0] for x in PEERS if x in times), default=None)
                ratio = f"{times[OURS][0] / best:.2f}" if best and OURS in times else "-"
                cells[case.results[0].operation].append(ratio)
        print(f"| {dtype} | {' | '.join(' '.join(cell) for cell in cells.values())} |")


def line(case: Case, times: Times, copied: float) -> str:
    shown = [
        f"{times[x][0] * 1e6:.1f} ({times[x][1] * 1e6:.0f})" if x in times else ""
        for x in LIBRARIES
    ]
    ratio = share = ""
    best = min((times[x][0] for x in PEERS if x in times), default=None)
    if OURS in times:
        ours = times[OURS][0]
        share = f"{case.moved / ours / copied:.0%}"
        ratio = f"{ours / best:.2f}" if best else ""
    return f"| {case.name} | {' | '.join(shown)} | {ratio} | {share} |"


def means(peer: str, all_times: Sequence[Times]) -> None:
    ratios = [times[peer][0] / times[OURS][0] for times in all_times if {peer, OURS} <= set(times)]
    if ratios:
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"{len(ratios)} of them beside {peer}: polygen is {mean:.2f} times as fast")


def generate(chosen: Sequence[Case]) -> None:
    """Print the least CPU time of making, optimising and generating each kernel."""
    os.environ["POLYGEN_NO_CACHE"] = "1"
    import polygen as pg  # noqa: PLC0415  (caches are chosen before)

    ours, limits = module(OURS), pg.Limits.named("H200")

    def seconds(case: Case) -> float:
        start = time.process_time()
        pg.generate_code(pg.optimize_reductions(ours.kernel(case), limits), "cuda")
        return time.process_time() - start

    print("| ms of CPU time | proved | unproved |\n| --- | --- | --- |")
    for case in chosen:
        seconds(case)
        proved = min(seconds(case) for _ in range(3))
        with pg.without_proofs():
            unproved = min(seconds(case) for _ in range(3))
        print(f"| {case.name} | {proved * 1e3:.0f} | {unproved * 1e3:.0f} |", flush=True)


def main() -> None:
    everything = cases()
    groups = list(dict.fromkeys(case.group for case in everything))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("groups", nargs="*", choices=[[], *groups], help="all, if not given")
    parser.add_argument("--list", action="store_true", help="print what would be measured")
    parser.add_argument("--only", default="", help="those whose names match this expression")
    parser.add_argument("--libraries", nargs="*", default=LIBRARIES, choices=LIBRARIES)
    parser.add_argument("--processes", type=int, default=max(1, (os.cpu_count() or 1) - 2))
    parser.add_argument("--rounds", type=int, default=7, help="times of which the median counts")
    parser.add_argument("--save", type=Path, help="where to write what was measured, as JSON")
    parser.add_argument("--generate", action="store_true", help="time code generation alone")
    parser.add_argument("--table", type=Path, help="print what was measured before")
    given = parser.parse_args()
    chosen = [case for case in everything if not given.groups or case.group in given.groups]
    chosen = [case for case in chosen if re.search(given.only, case.name)]
    if given.list:
        print(*(f"{case.group}: {case.name}" for case in chosen), sep="\n")
        return
    if given.generate:
        generate(chosen)
        return
    if given.table:
        before = json.loads(given.table.read_text())
        table(chosen, before["times"], before["copied"])
        return
    libraries = [x for x in given.libraries if x == "cub" or find_spec(x)]
    timing = import_module("benchmarks.on_gpu.timing")
    copied = timing.copied_bytes_per_second()
    found = measure(chosen, libraries, given.processes, given.rounds)
    table(chosen, found, copied)
    if given.save:
        device = timing.torch.cuda.get_device_name()
        times = {case.key: found[case.key] for case in chosen}
        kept = {"device": device, "copied": copied, "times": times}
        given.save.write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
