"""Compare generated code with what is kept of it, or write it: see `tests.replay`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import tests.replay
from tests.replay.cases import CASES, SAMPLE, texts_of_case
from tests.replay.kept import check
from tests.replay.texts import TARGETS, Texts

_ENDINGS = dict(zip(TARGETS, ("c", "cl", "cu"), strict=True))


def _write(found: Mapping[str, Texts], folder: Path) -> None:
    for name, texts in found.items():
        for target, text in texts.items():
            path = folder / f"{name}.{_ENDINGS[target]}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def _all(names: Sequence[str], processes: int) -> dict[str, Texts]:
    found: dict[str, Texts] = {}
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        for texts in pool.map(texts_of_case, names, chunksize=4):
            found.update(texts)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.replay",
        description=tests.replay.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="cases whose names match this expression")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="where texts are written")
    parser.add_argument("--sample", action="store_true", help="what `make test` looks at")
    parser.add_argument("--reversed", action="store_true", help="in reversed order")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    chosen = [name for name in CASES if name in SAMPLE] if given.sample else [*CASES]
    names = [name for name in chosen if re.search(given.only, name)]
    found = _all(names[::-1] if given.reversed else names, given.processes)
    if given.write:
        _write(found, given.write)
        return
    try:
        check(found, names)
    except AssertionError as error:
        sys.exit(str(error))
    sys.stdout.write(f"{len(found)} kernels of {len(names)} cases: as kept\n")


if __name__ == "__main__":
    main()
