"""`polygen show`, `check` and `diff`: kernels as text, in and out."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import polygen as pg
from polygen.cli import main
from polygen.cli.scripts import transformed
from polygen.cli.texts import Source
from polygen.errors import UnreadableFile
from polygen.inspection.compare.verbatim_parts import verbatim_parts

ROWS = """\
# the sum of each row
KERNEL: rows
{ [i]: 0<=i<n }
[m] -> { [j]: 0<=j<m }   # columns
ASSUMPTIONS: n >= 1
ASSUMPTIONS: m >= 1
TYPES: a, out: float32; m: int32

out[i] = sum(j, a[i,j])
"""
STEPS = """\
import polygen as pg
from sizes import WIDTH

def transform(knl):
    print("splitting")
    return pg.split_iname(knl, "i", WIDTH, outer_tag="g.0", inner_tag="l.0")
"""
Run = Callable[..., tuple[int, str, str]]


def rows() -> pg.Kernel:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        "out[i] = sum(j, a[i,j])",
        name="rows",
        assumptions="n>=1 and m>=1",
    )
    return pg.add_dtypes(knl, {"a, out": "float32", "m": "int32"})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """A function that runs the command in a folder with kernels, and returns all that comes."""
    monkeypatch.chdir(tmp_path)
    Path("rows.pg").write_text(ROWS)
    Path("full.pg").write_text(str(rows()))
    Path("steps.py").write_text(STEPS)
    Path("sizes.py").write_text("WIDTH = 16\n")

    def start(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status = main(arguments)
        found = capsys.readouterr()
        return status, found.out, found.err

    return start


def test_the_short_form_is_the_kernel_that_it_looks_like(run: Run) -> None:
    for name in ("rows.pg", "full.pg"):
        assert run("show", name) == (0, str(rows()) + "\n", "")
    assert run("show", "-", stdin=ROWS) == (0, str(rows()) + "\n", "")


def test_what_is_printed_can_be_piped(run: Run) -> None:
    _, text, told = run("show", "rows.pg", "--transform", "steps.py")
    assert told == "splitting\n"
    split = pg.split_iname(rows(), "i", 16, outer_tag="g.0", inner_tag="l.0")
    assert pg.parse_kernel(text) == split
    assert run("show", "-", stdin=text) == (0, text, "")
    assert run("show", "-", "--code", stdin=text)[1] == str(pg.generate_code(split)) + "\n"


def test_forms(run: Run) -> None:
    knl = rows()
    for form, text in {
        "--code": str(pg.generate_code(knl, "cuda")),
        "--loops": str(pg.lower_kernel(knl, "cuda")),
        "--graph": pg.get_dot_dependency_graph(knl),
    }.items():
        assert run("show", "full.pg", "--target", "cuda", form) == (0, text.rstrip() + "\n", "")
    made: dict[str, pg.Kernel] = {}
    exec(run("show", "rows.pg", "--python")[1], made)  # noqa: S102  (what polygen wrote)
    assert made["knl"] == knl
    assert "TARGET: c\n" in run("show", "full.pg", "--target", "c")[1]


def test_programs(run: Run) -> None:
    inner = pg.make_function("{ [i]: 0<=i<4 }", "y[i] = 2*x[i]", name="twice")
    outer = pg.make_kernel(
        "{ [k]: 0<=k<n }",
        "[i]: b[k, i] = twice([i]: a[k, i])",
        functions={"twice": inner},
        name="rows",
    )
    program = pg.merge([inner, outer]).with_entrypoints("rows")
    Path("program.pg").write_text(str(program))
    assert run("show", "program.pg") == (0, str(program) + "\n", "")
    assert run("diff", "program.pg", "program.pg") == (0, "", "")
    assert run("check", "program.pg")[0] == 0


def test_check(run: Run) -> None:
    assert run("check", "rows.pg") == (0, "kernel 'rows': its result is determined\n", "")
    status, text, _ = run("check", "-", stdin="{ [i]: 0<=i<n }\nout[idx[i]] = 1")
    assert status == 0
    assert "  insn: out[idx[i]] is inside of 'out': 0 <= idx[i] < out_len\n" in text


def test_check_says_what_is_wrong_with_a_kernel(run: Run) -> None:
    status, text, told = run("check", "-", stdin="{ [i]: 0<=i<n }\nb[i] = 1\na[i] = a[i-1]")
    assert (status, told) == (1, "")
    assert "insn_0[i=0] reads a[-1], which is outside of 'a'" in text


def test_check_says_what_is_wrong_with_a_step(run: Run) -> None:
    Path("wrong.py").write_text(
        "import polygen as pg\n\ndef transform(knl):\n    return pg.tag_inames(knl, {'i': 'g.0'})\n"
    )
    text = "{ [i]: 1<=i<n }\na[i] = a[i-1] + 1"
    status, shown, _ = run("check", "-", "--transform", "wrong.py", stdin=text)
    assert status == 1
    assert shown.startswith("wrong.py:4: tag_inames would change what kernel")
    assert "insn[i=1] writes the element of 'a' that insn[i=2] reads" in shown
    status, shown, told = run("show", "-", "--transform", "wrong.py", stdin=text)
    assert (status, shown) == (2, "")
    assert told.startswith("wrong.py:4: ")


def test_check_lists_what_is_taken_on_trust(run: Run) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[idx[i]] = 1")
    text = str(pg.assume_injective(knl, "idx"))
    assert run("check", "-", stdin=text)[1].endswith("on trust:\n  assume_injective('idx')\n")


def test_diff(run: Run) -> None:
    assert run("diff", "rows.pg", "full.pg") == (0, "", "")
    split = pg.split_iname(rows(), "i", 16, outer_tag="g.0", inner_tag="l.0")
    expected = (1, pg.diff(split, rows()) + "\n", "splitting\n")
    assert run("diff", "rows.pg", "full.pg", "--transform", "steps.py") == expected


def test_one_kernel_before_and_after_steps(run: Run) -> None:
    split = pg.split_iname(rows(), "i", 16, outer_tag="g.0", inner_tag="l.0")
    expected = (1, pg.diff(rows(), split) + "\n", "splitting\n")
    assert run("diff", "rows.pg", "--transform", "steps.py") == expected
    assert run("diff", "-", "--transform", "steps.py", stdin=ROWS) == expected
    Path("nothing.py").write_text("def transform(knl):\n    return knl\n")
    assert run("diff", "full.pg", "--transform", "nothing.py") == (0, "", "")
    status, text, _ = run("equiv", "rows.pg", "--transform", "steps.py")
    assert (status, text.startswith("equal: ")) == (0, True)
    for command in ("diff", "equiv"):
        for name in ("rows.pg", "-"):
            status, text, told = run(command, name, stdin=ROWS)
            assert (status, text) == (2, "")
            assert "this is one kernel, and two are compared" in told
            assert "--transform script.py" in told


_WRONG_TEXTS: list[tuple[str, str]] = [
    (
        "{ [i]: 0<=i<n }\nb[i] = a[i]\n  out[i] = 2*a[i\n",
        ":3:17: found the end where ',', ':'",
    ),
    ("{ [i]: 0<=i<n \nout[i] = 2*a[i]\n", ":1:14: found the end where an operator or '}'"),
    ("{ [i]: 0<=i<n }\nTYPES: a float32\nb[i] = a[i]", ":2:8: 'a float32' is no names and a type"),
    ("{ [i]: 0<=i<n }\n\na[i] = 1 {dep=foo}", ":3:15: 'insn' depends on 'foo', but no"),
    ("{ [i]: 0<=i<n }\nTYPES: c: float32\nb[i] = a[i]", ": kernel 'polygen_kernel' has no"),
    (str(rows()).replace("sum(j", "sum(/"), ":18:18: found '/' where"),
    (str(rows()).replace("a[i, j])", "b[i, j])"), ":18: instruction 'insn' mentions 'b'"),
    (str(rows()).replace("DOMAINS", "DOMAIN"), ":10: this is no line of a kernel's text"),
    (str(rows()).replace(" <= i < n", " <= i"), ":11: the iname 'i' has no upper bound"),
    ("# nothing\n", ": this text has no kernel in it"),
]


@pytest.mark.parametrize(("text", "message"), _WRONG_TEXTS)
def test_texts_that_are_wrong(run: Run, text: str, message: str) -> None:
    Path("wrong.pg").write_text(text)
    status, shown, told = run("show", "wrong.pg")
    assert (status, shown) == (2, "")
    assert told.startswith(f"wrong.pg{message}"), told


_WRONG_SCRIPTS: list[tuple[str, str]] = [
    (
        "def transform(knl):\n    return knl.colour\n",
        "script.py:2: AttributeError: 'Kernel' object",
    ),
    ("def transform(knl):\n    pass\n", "script.py: transform returned None, which is no kernel"),
    ("def transfrom(knl):\n    pass\n", "script.py: this script has no function 'transform'"),
    ("def transform(knl:\n", "script.py:1:14: SyntaxError: '(' was never closed"),
    ("import sys\ndef transform(knl):\n    sys.exit(0)\n", "script.py:3: SystemExit: 0"),
    ("import nonesuch\n", "script.py:1: ModuleNotFoundError: No module named 'nonesuch'"),
]


@pytest.mark.parametrize(("text", "message"), _WRONG_SCRIPTS)
def test_scripts_that_are_wrong(run: Run, text: str, message: str) -> None:
    Path("script.py").write_text(text)
    status, shown, told = run("show", "rows.pg", "--transform", "script.py")
    assert (status, shown) == (2, "")
    assert told.startswith(message), told
    assert "Traceback" not in told


def test_files_that_cannot_be_read(run: Run) -> None:
    Path("noise.pg").write_bytes(b"\xff\xfe\xff")
    assert run("show", "noise.pg") == (2, "", "noise.pg: this is no text in UTF-8\n")
    status, _, told = run("diff", "-", "-")
    assert (status, "one kernel, and two are wanted" in told) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "row.pg"], "row.pg: there is no such file\n  remedy: did you mean 'rows.pg'?\n"),
        (["check", "away/rows.pg"], "away/rows.pg: there is no folder 'away'\n"),
        (
            ["diff", "rows.pg", "empty/a"],
            "empty/a: there is no such file\n  remedy: there are none\n",
        ),
        (["equiv", "empty", "rows.pg"], "empty: this cannot be read: Is a directory\n"),
        (["show", "rows.pg/x"], "rows.pg/x: this cannot be read: Not a directory\n"),
        (["show", "x" * 300], "x" * 300 + ": this cannot be read: File name too long\n"),
        (
            ["show", "rows.pg", "--transform", "step.py"],
            "step.py: there is no such file\n  remedy: did you mean 'steps.py' or 'sizes.py'?\n",
        ),
    ],
)
def test_files_that_are_not_there(run: Run, arguments: list[str], told: str) -> None:
    Path("empty").mkdir()
    assert run(*arguments) == (2, "", told)


def test_a_file_that_is_not_there_has_an_error_of_its_own(run: Run) -> None:
    for name in ("nowhere.pg", ".", "rows.pg/x"):
        with pytest.raises(UnreadableFile):
            Source.of(name)
        with pytest.raises(UnreadableFile):
            transformed(rows(), name)
    assert issubclass(UnreadableFile, pg.UserError)


def test_lines_as_windows_ends_them(run: Run) -> None:
    text = str(rows()).replace("\n", "\r\n")
    assert run("diff", "rows.pg", "-", stdin=text) == (0, "", "")
    Path("marked.pg").write_bytes(b"\xef\xbb\xbf" + ROWS.replace("\n", "\r\n").encode())
    assert run("diff", "rows.pg", "marked.pg") == (0, "", "")


def test_a_script_that_is_no_text(run: Run) -> None:
    Path("script.py").write_bytes(b"\xff\xfe")
    status, shown, told = run("show", "rows.pg", "--transform", "script.py")
    assert (status, shown, "Traceback" in told) == (2, "", False)
    assert told.startswith("script.py"), told


def test_a_fault_is_no_answer(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("polygen.cli.check.read_source", broken)
    status, shown, told = run("check", "rows.pg")
    assert (status, shown) == (2, "")
    assert told.endswith("RuntimeError: a fault\n")


def test_warnings_are_lines_of_the_standard_error(run: Run) -> None:
    text = "{ [i, j]: 0<=i,j<n }\nout[i, j] = 1"
    status, shown, told = run("show", "-", "--code", "--target", "c", stdin=text)
    assert (status, "for (int i" in shown) == (0, True)
    assert all(line.startswith("polygen: warning: ") for line in told.splitlines())
    assert told.endswith(" [AmbiguousNesting]\n")


def test_a_reader_who_has_had_enough(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        assert main(["show", "rows.pg"]) == 2


def test_errors_name_the_kernels_file_and_not_the_command(tmp_path: Path) -> None:
    # As it is installed: a script that calls `main`, whose lines no user has written.
    command = tmp_path / "polygen"
    command.write_text("import sys\nfrom polygen.cli import main\nsys.exit(main())\n")
    (tmp_path / "first.pg").write_text("{ [i]: 0<=i<n }\n\nb[i] = 2*a[i]\n")
    (tmp_path / "second.pg").write_text("{ [i]: 0<=i<n }\n\nb[i] = 2*c[i]\n")
    untyped = subprocess.run(
        [sys.executable, str(command), "emit", "first.pg", "--target", "c", "-o", "out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (untyped.returncode, untyped.stdout) == (2, "")
    assert untyped.stderr.startswith("first.pg: the type of the variable 'a' is not known")
    apart = subprocess.run(
        [sys.executable, str(command), "equiv", "first.pg", "second.pg"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (apart.returncode, apart.stdout) == (2, "")
    assert apart.stderr.startswith("first.pg, second.pg: ")


PLAIN = pg.add_dtypes(
    pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = exp(a[i])*exp(a[i])"), {"a": "float64"}
)
OWN = '#include <stdio.h>\nstatic double own(double x) { fclose(fopen("ran", "w")); return x; }\n'
TOUCH = 'extern int system(char const *); system("touch ran");'


def _verbatim() -> pg.Kernel:
    text = f"""
    out[i] = exp(2*a[i])  {{id=first}}
    ... code(i=i) {json.dumps(TOUCH)} writes(out[i])  {{inames=i, dep=first}}
    """
    return pg.make_kernel("{ [i]: 0<=i<n }", text, [pg.GlobalArg("out", "float64", "n"), "..."])


def _function() -> pg.Kernel:
    own = pg.ScalarCallable({"own": "float64 -> float64"}, OWN)
    return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = own(exp(2*a[i]))", functions={"own": own})


def _function_of_c() -> pg.Kernel:
    own = pg.ScalarCallable({"abort": "float64 -> float64"}, "")
    return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = f(exp(2*a[i]))", functions={"f": own})


def _preamble() -> pg.Kernel:
    text = f"__attribute__((constructor)) static void own(void) {{ {TOUCH} }}"
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = exp(2*a[i])")
    return pg.register_preamble_generators(knl, [lambda _: [("0", text)]])


def _symbol() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = exp(2*a[i])*ONE")
    text = f"__attribute__((constructor)) static void own(void) {{ {TOUCH} }}\n#define ONE 1.0"
    return pg.register_preamble_generators(
        pg.register_symbol_manglers(
            knl, [lambda _, name: ("float64", "ONE") if name == "ONE" else None]
        ),
        [lambda _: [("0", text)]],
    )


def _build_option() -> pg.Kernel:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = exp(2*a[i])")
    return pg.set_options(knl, build_options=["-wrapper", "touch,ran,;"])


WITH_CODE = [_verbatim, _function, _function_of_c, _preamble, _symbol, _build_option]


@pytest.mark.parametrize("make", WITH_CODE)
def test_code_of_the_files_is_not_run(make: Callable[[], pg.Kernel], run: Run) -> None:
    Path("plain.pg").write_text(str(PLAIN))
    Path("own.pg").write_text(str(pg.add_dtypes(make(), {"a": "float64"})))
    for files in (("plain.pg", "own.pg"), ("own.pg", "plain.pg")):
        status, out, err = run("equiv", *files)
        assert (status, err) == (3, "")
        assert "may do anything, and is run only if you allow it" in out
    for command in ("check", "show", "diff"):
        run(command, "own.pg", *["plain.pg"] * (command == "diff"))
    assert not Path("ran").exists()


def test_code_of_the_files_is_run_if_that_is_said(run: Run) -> None:
    Path("plain.pg").write_text(str(PLAIN))
    Path("own.pg").write_text(str(pg.add_dtypes(_function(), {"a": "float64"})))
    status, out, _ = run("equiv", "--allow-verbatim", "plain.pg", "own.pg")
    assert status == 3
    assert "both left the same" in out
    assert Path("ran").exists()
    assert run("equiv", "own.pg", "own.pg")[0] == 0  # what is proved needs no run


def test_build_options_of_a_file(run: Run) -> None:
    knl = pg.add_dtypes(_build_option(), {"a": "float64"})
    Path("own.pg").write_text(str(knl))
    status, _, err = run("build", "own.pg", "-o", "built")
    assert status == 2
    assert "own.pg: this kernel has build options, -wrapper touch,ran,;" in err
    assert "polygen build --allow-verbatim" in err
    assert not Path("ran").exists()
    Path("own.pg").write_text(str(pg.set_options(knl, build_options=["-DX=1"])))
    assert run("build", "--allow-verbatim", "own.pg", "-o", "built")[0] == 0
    assert Path("built", "libpolygen_kernel.so").exists()


def test_code_of_what_a_kernel_calls() -> None:
    scalar = pg.ScalarCallable({"f": "float64 -> float64"}, OWN)
    data = [pg.GlobalArg("x, y", "float64", "4"), "..."]
    text = "y[k] = f(x[k])"
    own = pg.make_function("{ [k]: 0<=k<4 }", text, data, name="own", functions={"f": scalar})
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "[k]: out[i, k] = own([k]: a[i, k])",
        [pg.GlobalArg("a, out", "float64", "n, 4"), "..."],
    )
    assert verbatim_parts(knl) == ()
    called = pg.merge([pg.set_options(knl, build_options=["-w"]), own])["polygen_kernel"]
    assert verbatim_parts(called) == ("the build options of 'polygen_kernel'", "the function 'f'")
