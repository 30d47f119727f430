"""The generated code is what it was: `tests.replay` says how to see a difference and keep it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.replay.cases import CASES, SAMPLE, case_of, texts_of_case
from tests.replay.kept import UPDATE, check, read
from tests.replay.texts import TARGETS, hashed

ROOT = Path(__file__).parents[2]
KINDS = ("examples", "reductions", "random")


def _check(names: Iterable[str]) -> None:
    names = list(names)
    assert names
    check({kernel: t for name in names for kernel, t in texts_of_case(name).items()}, names)


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=[pytest.mark.more] * (k != "random")) for k in KINDS]
)
def test_sample(kind: str) -> None:
    _check(name for name in CASES if name in SAMPLE and name.startswith(f"{kind}/"))


@pytest.mark.more
@pytest.mark.parametrize("kind", KINDS)
def test_all_others(kind: str) -> None:
    _check(name for name in CASES if name not in SAMPLE and name.startswith(f"{kind}/"))


@pytest.mark.more
@pytest.mark.parametrize("seed", ["1", "2"])
def test_neither_hashes_of_strings_nor_the_order_of_kernels_has_a_say(seed: str) -> None:
    """Nor does what was generated before, the number of processors, or what is installed."""
    nothing = {"PYTHONHASHSEED": seed, "PATH": "", "OMP_NUM_THREADS": seed, "CC": "no-compiler"}
    environment = {name: value for name, value in os.environ.items() if name != UPDATE} | nothing
    command = [sys.executable, "-m", "tests.replay", "--sample", "--reversed", "--processes", "1"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_what_is_kept() -> None:
    kept = read()
    assert {case_of(name) for name in kept} == CASES.keys()
    assert all(re.fullmatch(r"[0-9a-f]{16}|[A-Z]\w+", h) for found in kept.values() for h in found)
    # Where a target refuses, or code is the same for two, hashes say so.
    assert len({h for found in kept.values() for h in found}) > 1500
    for kind, fewest in zip(KINDS, (20, 20, 20), strict=True):
        assert sum(name.startswith(f"{kind}/") for name in SAMPLE) >= fewest


# --- that it notices


def _texts(text: str) -> dict[str, str]:
    return dict.fromkeys(TARGETS, text)


def test_a_difference_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "hashes.tsv"
    file.write_text("# islpy 1\n")
    found = {f"random/{seed}": _texts(f"text {seed}") for seed in range(3)}
    found["random/1"]["c"] = "refused: NoLoopNest\n"
    monkeypatch.setenv(UPDATE, "1")
    check(found, found, file)
    monkeypatch.delenv(UPDATE)
    assert read(file)["random/1"][0] == "NoLoopNest"
    check(found, found, file)
    check({"random/2": found["random/2"]}, ["random/2"], file)  # the others are not asked for
    found["random/0"]["cuda"] += " "
    found["random/1"]["c"] = "text 1"
    del found["random/2"]
    old, new = hashed("text 0"), hashed("text 0 ")
    with pytest.raises(AssertionError, match="of 5 texts") as caught:
        check(found, [*found, "random/2"], file)
    said = str(caught.value)
    assert f"random/0 on cuda: {new}, was {old}\n" in said
    assert f"random/1 on c: {hashed('text 1')}, was NoLoopNest\n" in said
    assert f"random/2 on opencl: none, was {hashed('text 2')}\n" in said
    assert "--only '^random/0$|^random/1$|^random/2$' --write /tmp/before" in said
    assert f"{UPDATE}=1 python -m tests.replay" in said


def test_what_is_gone_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "hashes.tsv"
    file.write_text("# islpy 1\nexamples/gone/0_k\ta\tb\tc\nexamples/saxpy/9_k\ta\tb\tc\n")
    monkeypatch.setenv(UPDATE, "1")
    check({"random/1": _texts("")}, ["random/1"], file)
    assert [*read(file)] == ["examples/saxpy/9_k", "random/1"]
    check({"examples/saxpy/0_k": _texts("")}, ["examples/saxpy"], file)
    assert [*read(file)] == ["examples/saxpy/0_k", "random/1"]


@pytest.mark.more
def test_texts_are_written(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.replay", "--only", "^random/[01]$", "--write"]
    subprocess.run([*command, str(tmp_path)], cwd=ROOT, check=True)
    written = {path.relative_to(tmp_path).as_posix(): path for path in tmp_path.rglob("*.*")}
    assert {*written} == {f"random/{n}.{end}" for n in (0, 1) for end in ("c", "cl", "cu")}
    for number in (0, 1):
        assert hashed(written[f"random/{number}.cl"].read_text()) == read()[f"random/{number}"][1]
