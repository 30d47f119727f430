"""The hashes that are kept of generated code, and what is said where one differs."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

from tests.replay.cases import CASES, case_of
from tests.replay.texts import TARGETS, Texts, hashed

FILE = Path(__file__).with_name("hashes.tsv")
UPDATE = "POLYGEN_UPDATE_GOLDEN"
Hashes: TypeAlias = Mapping[str, tuple[str, ...]]
"""By the name of a kernel, for each target."""

# Libraries whose releases may change the code: isl's sets, and examples with random tables.
_LIBRARIES = ("islpy", "numpy", "pymbolic")


def read(file: Path = FILE) -> Hashes:
    """Return what is kept."""
    _, *lines = file.read_text().splitlines()
    return {name: tuple(found) for name, *found in (line.split("\t") for line in lines)}


def check(found: Mapping[str, Texts], cases: Collection[str], file: Path = FILE) -> None:
    """Compare the texts of some cases with what is kept; or keep them, if that is asked for.

    Raises:
        AssertionError: if a text is another one, missing or new.
    """
    hashes = {name: tuple(hashed(texts[t]) for t in TARGETS) for name, texts in found.items()}
    if UPDATE in os.environ:
        rest = {n: h for n, h in read(file).items() if case_of(n) in CASES.keys() - {*cases}}
        _write({**rest, **hashes}, file)
        return
    expected = {name: h for name, h in read(file).items() if case_of(name) in cases}
    different = differences(expected, hashes)
    if different:
        raise AssertionError(_message(different, file))


def differences(expected: Hashes, found: Hashes) -> list[str]:
    """Return a line for each kernel and target of which something else was found."""
    nothing = ("none",) * len(TARGETS)
    return [
        f"{name} on {target}: {new}, was {old}"
        for name in sorted({*expected, *found})
        for target, old, new in zip(
            TARGETS, expected.get(name, nothing), found.get(name, nothing), strict=True
        )
        if old != new
    ]


def _message(different: list[str], file: Path) -> str:
    cases = dict.fromkeys(case_of(line.partition(" on ")[0]) for line in different)
    only = "|".join(f"^{case}$" for case in [*cases][:5])
    written = f"python -m tests.replay --only '{only}' --write"
    made_with, here = file.read_text().splitlines()[0], _versions()
    return "\n".join(
        [
            f"the code of {len(different)} texts is not what it was:",
            *(f"    {line}" for line in different),
            "to see the difference, write the texts before the change and after it:",
            f"    git stash; {written} /tmp/before; git stash pop",
            f"    {written} /tmp/after; diff -r /tmp/before /tmp/after",
            f"if it is meant: {UPDATE}=1 python -m tests.replay",
            *([] if made_with == here else [f"hashes are of {made_with}; here, it is {here}"]),
        ]
    )


def _versions() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    return f"# {libraries}, Python {sys.version_info.major}.{sys.version_info.minor}"


def _write(hashes: Hashes, file: Path) -> None:
    order = {name: number for number, name in enumerate(CASES)}
    names = sorted(hashes, key=lambda name: order[case_of(name)])  # kernels of a case as they came
    lines = [_versions(), *("\t".join([name, *hashes[name]]) for name in names)]
    file.write_text("\n".join(lines) + "\n")
