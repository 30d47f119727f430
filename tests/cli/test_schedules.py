"""`polygen optimize` and `polygen tune`: scripts that run, and why they are as they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import polygen as pg
from polygen.cli import main

TURNED = """\
KERNEL: turned
{ [i, j]: 0<=i<n and 0<=j<m }
TYPES: a: float64
[i, j] b[j,i] = 2*a[j,i]
"""
QUIET = pytest.mark.filterwarnings("ignore::polygen.errors.AmbiguousNesting")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the command in a folder with a kernel, and returns all that comes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("POLYGEN_NO_CACHE", raising=False)
    Path("turned.pg").write_text(TURNED)

    def start(*arguments: str) -> tuple[int, str, str]:
        status = main(arguments)
        found = capsys.readouterr()
        return status, found.out, found.err

    return start


def made(script: str) -> pg.Kernel:
    """Return the kernel that a script makes."""
    module = ModuleType("script")
    exec(script, vars(module))  # noqa: S102  (what polygen wrote)
    knl = module.knl
    assert isinstance(knl, pg.Kernel)
    return knl


def turned(target: str) -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }", "b[j,i] = 2*a[j,i]", name="turned", target=target
    )
    return pg.add_dtypes(knl, {"a": "float64"})


@QUIET
@pytest.mark.parametrize("target", ["c", "opencl", "cuda"])
def test_the_script_makes_what_optimize_returns(target: str, run: Run) -> None:
    status, script, _ = run(
        "optimize", "turned.pg", "--target", target, "--sizes", "n=4096", "--sizes", "m=300,n=500"
    )
    expected = pg.optimize(turned(target), sizes={"n": 500, "m": 300})
    assert status == 0
    assert made(script) == expected
    assert made(script).target == target
    assert len(expected.history) > 1
    reasons = [line.removeprefix("# ") for line in script.splitlines() if line.startswith("#")]
    assert "\n".join(reasons) == str(pg.explain(expected, sizes={"n": 500, "m": 300}))


def test_without_a_target_it_is_that_of_calls(run: Run) -> None:
    knl = made(run("optimize", "turned.pg", "--sizes", "n=4096,m=100")[1])
    assert knl.target == pg.default_target()
    a = np.random.default_rng(1).random((3, 5))
    np.testing.assert_array_equal(knl(a=a)[1][0], 2 * a)


@QUIET
def test_steps_of_a_script_come_first(run: Run) -> None:
    Path("steps.py").write_text(
        "import polygen as pg\n\ndef transform(knl):\n    return pg.rename_iname(knl, 'i', 'p')\n"
    )
    script = run("optimize", "turned.pg", "--target", "c", "--transform", "steps.py")[1]
    renamed = pg.rename_iname(turned("c"), "i", "p")
    assert made(script) == pg.optimize(renamed)
    assert "pg.rename_iname(knl, 'i', 'p')" in script


def test_limits_of_a_device(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [
        run("optimize", "turned.pg", "--target", "cuda", "--sizes", "n=4096,m=4096", *limits)[1]
        for limits in (["--limits", "H100"], ["--limits", "A100"])
    ]
    assert "least time: 80.1 us" in told[0]  # 16 bytes for each of 4096^2 elements, 3.35 TB/s
    assert "least time: 132 us" in told[1]  # 2.039 TB/s
    monkeypatch.setattr(pg, "measure_limits", lambda target: pg.Limits(1e9, 1e9, compute_units=3))
    measured = run("optimize", "turned.pg", "--target", "c", "--limits", "measured")[1]
    assert "least time: 16.8 ms" in measured  # 16 MB, 1 GB/s
    assert "work for 3 threads\n" in measured


def test_tuned(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(run: pg.Executor, new_args: object, enough: float) -> float:
        return 0.5 if not run.kernel.tags and run.kernel.priorities else 1.0

    monkeypatch.setattr("polygen.tuning.measure.seconds_of", seconds)
    arguments = ("turned.pg", "--target", "c", "--sizes", "n=500,m=400", "--budget", "60")
    status, script, _ = run("tune", *arguments)
    assert status == 0
    knl = made(script)
    assert (knl.tags, knl.priorities) == ({}, (("j", "i"),))
    assert "# measured:\n#     500 ms: threads of insn: none (taken)\n" in script
    plain = run("optimize", *arguments[:-2])[1]
    assert "measured" not in plain
    assert made(plain).tags


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--sizes", "n"], "--sizes: 'n' is no size and a number\n  remedy: --sizes n=4096,m=100"),
        (["--sizes", "n=-4"], "--sizes: 'n=-4' is no size and a number"),
        (["--sizes", "nn=4"], "--sizes: kernel 'turned' has no size 'nn'\n  remedy: did you mean"),
        (["--limits", "H2"], "--limits: no device is known by the name 'H2'"),
    ],
)
@pytest.mark.parametrize("command", ["optimize", "tune"])
def test_what_cannot_be_asked_for(command: str, arguments: list[str], told: str, run: Run) -> None:
    status, out, err = run(command, "turned.pg", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(told)


def test_budgets(run: Run) -> None:
    status, out, err = run("tune", "turned.pg", "--target", "c", "--budget", "0")
    assert (status, out) == (2, "")
    assert "optimize was given budget=0.0, which is no time to measure in" in err


def test_code_of_the_file_is_not_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    own = 'static double own(double x) { fclose(fopen("ran", "w")); return x; }\n'
    scalar = pg.ScalarCallable({"own": "float64 -> float64"}, f"#include <stdio.h>\n{own}")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "out[i] = own(a[i])", functions={"own": scalar}, target="c"
    )
    Path("own.pg").write_text(str(pg.add_dtypes(knl, {"a": "float64"})))
    status, out, err = run("tune", "own.pg")
    assert (status, out) == (2, "")
    assert err.startswith("own.pg: the function 'own' may do anything, and is run only if")
    assert "polygen tune --allow-verbatim" in err
    assert run("optimize", "own.pg")[0] == 0
    assert not Path("ran").exists()
    arguments = ("own.pg", "--allow-verbatim", "--sizes", "n=10", "--budget", "0.1")
    assert run("tune", *arguments)[0] == 0
    assert Path("ran").exists()


def test_the_target_of_show_is_that_of_its_script(run: Run) -> None:
    assert made(run("show", "turned.pg", "--target", "cuda", "--python")[1]) == turned("cuda")
