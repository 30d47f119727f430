"""The dependency graph: its text, its boxes, and the pictures that Graphviz makes of it."""

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import polygen as pg
from polygen.errors import DrawingFailed, InvalidArgument, NoGraphviz, NoLoopNest
from polygen.ir import expression as ex
from polygen.ir.domain import parse_domain
from tests.needs import needs

QUOTED = r'"((?:[^"\\]|\\.)*)"'
NODE = re.compile(rf"{QUOTED} \[label={QUOTED}\];")
EDGE = re.compile(rf"{QUOTED} -> {QUOTED};")


def boxes(dot: str) -> dict[str, list[str]]:
    """The labels of the boxes around each node, outermost first."""
    found: dict[str, list[str]] = {}
    around: list[str] = []
    lines = iter(dot.splitlines()[1:-1])
    for line in map(str.strip, lines):
        if line.startswith("subgraph"):
            around.append(next(lines).strip().removeprefix('label="').removesuffix('\\l";'))
        elif line == "}":
            around.pop()
        elif node := NODE.fullmatch(line):
            found[node[1]] = list(around)
    assert not around
    return found


def edges(dot: str) -> set[tuple[str, str]]:
    return {(m[1], m[2]) for m in EDGE.finditer(dot)}


def transpose_then_double() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
        """
        out[j, i] = a[i, j] {id=transpose}
        out[ii, jj] = 2*out[ii, jj] {id=double, dep=transpose}
        """,
    )


def nasty() -> pg.Kernel:
    """A kernel with names that no front end makes, and most operators."""
    a = ex.Variable('a"; \\N \\l')
    choice = ex.If(ex.Comparison(a, "<", 3), ex.BitwiseOr((a, 1)), ex.BitwiseAnd((a, 7)))
    insn = pg.Assignment(
        id='x"\\:n {|}<b>&lt;é',
        assignee=ex.Variable("&amp;"),
        expression=choice,
        within_inames=frozenset(["i"]),
        depends_on=frozenset(["back\\"]),
        predicates=(ex.Comparison(a, ">=", 0),),
    )
    other = pg.Assignment("back\\", ex.Variable("b"), ex.BitwiseNot(a), frozenset(["i"]))
    return pg.Kernel("&#955;", (parse_domain("{ [i]: 0<=i<4 }"),), (insn, other), ())


def test_loops_are_boxes_and_edges_lead_to_what_comes_later() -> None:
    dot = pg.get_dot_dependency_graph(transpose_then_double())
    assert boxes(dot) == {"transpose": ["i", "j"], "double": ["ii", "jj"]}
    assert edges(dot) == {("transpose", "double")}


def test_a_shared_loop_is_one_box() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }", "<> t = a[i] {id=load}\nb[i, j] = t {id=store}\nc[i] = t {id=last}"
    )
    dot = pg.get_dot_dependency_graph(knl)
    assert boxes(dot) == {"load": ["i"], "store": ["i", "j"], "last": ["i"]}
    assert dot.count("subgraph") == 2
    assert edges(dot) == {("load", "store"), ("load", "last")}


def test_the_nesting_is_that_of_the_generated_code() -> None:
    knl = pg.prioritize_loops(transpose_then_double(), "j, i")
    assert boxes(pg.get_dot_dependency_graph(knl))["transpose"] == ["j", "i"]


def test_tags_are_shown_and_parallel_inames_stand_outside() -> None:
    knl = pg.split_iname(transpose_then_double(), "j", 16, outer_tag="g.0", inner_tag="l.0")
    knl = pg.tag_inames(knl, {"i": "for", "ii": "l.0", "jj": "unr"})
    assert boxes(pg.get_dot_dependency_graph(knl)) == {
        "transpose": ["j_outer: g.0", "j_inner: l.0", "i: for"],
        "double": ["ii: l.0", "jj: unr"],
    }


def test_parallel_inames_inside_a_loop_that_their_instructions_share() -> None:
    knl = pg.make_kernel(
        "{ [t,i,j]: 0<=t<nt and 0<=i,j<n }",
        """
        b[i] = a[i] + t {id=first, inames=t:i, dep=*}
        a[j] = b[n-1-j] + t {id=second, inames=t:j, dep=first}
        """,
    )
    knl = pg.tag_inames(knl, {"i": "g.0", "j": "g.0"})
    dot = pg.get_dot_dependency_graph(knl)
    assert boxes(dot) == {"first": ["t", "i: g.0"], "second": ["t", "j: g.0"]}


def test_instructions_that_share_a_parallel_iname_share_its_box() -> None:
    knl = pg.make_kernel(
        "{ [g,i,j]: 0<=g,i,j<n }",
        "b[g, i] = 1 {id=x}\nc[g, j] = 2 {id=y}\nd = 3 {id=z}",
        [pg.TemporaryVariable("d"), "..."],
    )
    knl = pg.tag_inames(knl, {"g": "g.0"})
    dot = pg.get_dot_dependency_graph(knl)
    assert boxes(dot) == {"x": ["g: g.0", "i"], "y": ["g: g.0", "j"], "z": []}
    assert dot.count("subgraph") == 3


def test_reductions_stay_expressions() -> None:
    knl = pg.make_kernel("{ [i,k]: 0<=i,k<n }", "y[i] = sum(k, a[i, k]) {id=row}")
    dot = pg.get_dot_dependency_graph(knl)
    assert boxes(dot) == {"row": ["i"]}
    assert "sum(k, a[i, k])" in dot


def test_conditions_are_shown() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = 1 {id=one, if=i > 3}")
    assert "\\lif i > 3\\l" in pg.get_dot_dependency_graph(knl)


def test_long_instructions_are_folded() -> None:
    terms = " + ".join(f"a[i + {k}]" for k in range(40))
    dot = pg.get_dot_dependency_graph(pg.make_kernel("{ [i]: 0<=i<n }", f"y[i] = {terms} {{id=s}}"))
    match = NODE.search(dot)
    assert match is not None
    lines = match[2].split("\\l")
    assert all(len(line) <= 76 for line in lines)
    assert " ".join(line.strip() for line in lines[1:]).strip() == f"y[i] = {terms}"


def test_what_has_no_nest_is_drawn_without_boxes() -> None:
    with pg.without_proofs():  # or it would be refused when it is made
        knl = pg.make_kernel(
            "{ [i,j,k]: 0<=i,j,k<n }",
            """
            a[i, j] = 1 {id=both}
            b[i] = 1 {id=row}
            c[j] = 1 {id=column, dep=row}
            d[k] = 1 {id=other}
            """,
        )
    dot = pg.get_dot_dependency_graph(knl)
    assert boxes(dot) == {"both": [], "row": [], "column": [], "other": ["k"]}
    assert '"both" [label="[i, j] both\\l' in dot
    assert "no loop nest has one loop an iname" in dot
    assert edges(dot) == {("row", "column")}


def test_instructions_that_no_order_suits_are_still_drawn_in_their_loops() -> None:
    with pg.without_proofs():
        knl = pg.make_kernel(
            "{ [i,j]: 0<=i,j<n }",
            "a[i] = 1 {id=x}\nb[j] = a[n-1-j] {id=y}\nc[i] = b[n-1-i] {id=z}",
        )
    dot = pg.get_dot_dependency_graph(knl)
    assert boxes(dot) == {"x": ["i"], "y": ["j"], "z": ["i"]}
    assert "must come after another" in dot


def test_the_text_does_not_depend_on_the_hash_seed() -> None:
    code = (
        "import polygen as pg;"
        "knl = pg.make_kernel('{[i,j,k,l]: 0<=i,j,k,l<8}', 'a[i,j,k,l] = 1 {id=x}\\n"
        "b[i,j,k,l] = a[i,j,k,l] {id=y}\\nc[i,j,k,l] = a[i,j,k,l] + b[i,j,k,l]');"
        "knl = pg.tag_inames(knl, {'k': 'g.0', 'l': 'l.0', 'j': 'l.1'});"
        "print(pg.get_dot_dependency_graph(knl, with_dependences=True))"
    )
    texts = {
        subprocess.run(
            (sys.executable, "-c", code),
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


# --- dependences


LABELLED = re.compile(rf"{QUOTED} -> {QUOTED} \[label={QUOTED}, (.*)\];")


def gauss_seidel() -> pg.Kernel:
    return pg.make_kernel(
        ["{ [t]: 0<=t<n }", "{ [i]: 1<=i<n-1 }"],
        "a[i] = a[i-1] + a[i+1] {id=relax, inames=t:i}\nb[0] = a[1] {id=last, inames=}",
        assumptions="n >= 2",
        loop_priority="t, i",
    )


def test_dependences_are_edges_with_kinds_and_distances() -> None:
    dot = pg.get_dot_dependency_graph(gauss_seidel(), with_dependences=True)
    found = [(m[1], m[2], m[3]) for m in LABELLED.finditer(dot)]
    itself = ("flow a (1, -1)", "flow a (0, 1)", "anti a (1, -1)", "anti a (0, 1)")
    assert found == [
        ("relax", "relax", "".join(rf"{x}\l" for x in (*itself, "output a (1, 0)"))),
        ("relax", "last", r"flow a\l"),
    ]
    # What is declared stays there, in grey.
    assert '"relax" -> "last" [color="#b0b0b0"];' in dot
    assert edges(pg.get_dot_dependency_graph(gauss_seidel())) == {("relax", "last")}


def test_dependencies_on_instances_say_which() -> None:
    pairs = "{ [i] -> [i'] : i <= i' <= i + 1 }"
    knl = pg.make_kernel(
        "{ [i]: 1<=i<n }", f"a[i] = c[i] {{id=a}}\nb[i] = a[i-1] {{id=b, dep=a[{pairs}]}}"
    )
    arrows = [x.strip() for x in pg.get_dot_dependency_graph(knl).splitlines() if "->" in x]
    label = "{ [i] -> [i'] : i <= i' <= 1 + i }\\l"
    assert arrows == [f'"a" -> "b" [label="{label}"];']
    both = pg.get_dot_dependency_graph(knl, with_dependences=True)
    assert f'"a" -> "b" [label="{label}", color="#b0b0b0"];' in both
    assert '"a" -> "b" [label="flow a (1)' in both


def test_kinds_look_different() -> None:
    text = """
        b[i] = a[i+1] {id=read, dep=*}
        a[i] = c[i] {id=write, dep=read}
        b[i] = a[i] {id=again, dep=write}
        """
    dot = pg.get_dot_dependency_graph(
        pg.make_kernel("{ [i]: 0<=i<n }", text), with_dependences=True
    )
    assert {(m[1], m[2], m[3]): m[4] for m in LABELLED.finditer(dot)} == {
        ("read", "write", r"anti a (1)\l"): 'color="#b35900", fontcolor="#b35900", style=dashed',
        ("read", "again", r"output b (0)\l"): 'color="#6a3d9a", fontcolor="#6a3d9a", style=dotted',
        ("write", "again", r"flow a (0)\l"): 'color="#000000"',
    }


def test_doubt_is_drawn() -> None:
    array = pg.GlobalArg("a", "float64", "n", may_alias=True)
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "a[idx[i]] = b[i] {id=s}", [array, pg.GlobalArg("b", shape="n"), "..."]
    )
    dot = pg.get_dot_dependency_graph(knl, with_dependences=True)
    assert [m[3] for m in LABELLED.finditer(dot)] == [
        r"flow a, b (<), may be\lflow a, idx (<), may be\loutput a (<), may be\l"
        r"anti b, a (<), may be\lanti idx, a (<), may be\l"
    ]


def test_without_an_order_there_are_no_dependences_to_draw() -> None:
    with pg.without_proofs():
        knl = pg.make_kernel(
            "{ [i,j]: 0<=i,j<n }", "a[i,j] = 1 {id=x}\nb[i] = 1 {id=y}\nc[j] = 1 {id=z}"
        )
    assert "no loop nest has one loop an iname" in pg.get_dot_dependency_graph(knl)
    with pytest.raises(NoLoopNest):
        pg.get_dot_dependency_graph(knl, with_dependences=True)


# --- showing it


def test_without_a_file_the_text_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    knl = transpose_then_double()
    assert pg.show_dependency_graph(knl) is None
    assert capsys.readouterr().out == pg.get_dot_dependency_graph(knl)


@pytest.mark.parametrize("name", ["graph.dot", "GRAPH.DOT"])
def test_text_in_a_file(tmp_path: Path, name: str) -> None:
    knl = transpose_then_double()
    assert pg.show_dependency_graph(knl, tmp_path / name) == tmp_path / name
    assert (tmp_path / name).read_text() == pg.get_dot_dependency_graph(knl)


@pytest.mark.parametrize(
    ("path", "picture_format"),
    [("graph.pdf", None), ("graph", None), ("graph.svg", "SVG"), (None, "gif")],
)
def test_an_unknown_format(tmp_path: Path, path: str | None, picture_format: str | None) -> None:
    file = None if path is None else tmp_path / path
    with pytest.raises(InvalidArgument, match="formats are: dot, svg, png"):
        pg.show_dependency_graph(transpose_then_double(), file, format=picture_format)
    assert list(tmp_path.iterdir()) == []


def test_without_graphviz_only_a_png_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    knl = transpose_then_double()
    assert edges(pg.get_dot_dependency_graph(knl)) == {("transpose", "double")}
    with pytest.raises(NoGraphviz, match="apt install graphviz"):
        pg.show_dependency_graph(knl, tmp_path / "graph.png")
    assert list(tmp_path.iterdir()) == []


def _drawn_alone(knl: pg.Kernel, folder: Path, *, dependences: bool = False) -> ET.Element:
    file = pg.show_dependency_graph(knl, folder / "graph.svg", with_dependences=dependences)
    assert file is not None
    assert "var(" not in file.read_text(encoding="utf-8")
    return ET.fromstring(file.read_text(encoding="utf-8"))  # noqa: S314  (our own)


def _texts(root: ET.Element) -> set[str]:
    return {t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize("knl", [transpose_then_double(), nasty()], ids=["plain", "nasty"])
def test_without_graphviz_the_drawing_is_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, knl: pg.Kernel
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    root = _drawn_alone(knl, tmp_path)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert _texts(root) >= {insn.id for insn in knl.instructions} | set(knl.inames)
    arcs = [g for g in root.iter("{http://www.w3.org/2000/svg}g") if g.get("class") == "declared"]
    assert len(arcs) == 1
    rules = root.findtext("{http://www.w3.org/2000/svg}style") or ""
    for used in ("rect.instruction", ".declared .arc", ".declared .head", ".anti .arc", "text"):
        assert re.search(rf"^{re.escape(used)} {{ [^{{}}]+}}$", rules, re.MULTILINE), used


def test_without_graphviz_dependences_are_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    root = _drawn_alone(gauss_seidel(), tmp_path, dependences=True)
    kinds = {g.get("class") for g in root.iter("{http://www.w3.org/2000/svg}g")}
    assert kinds >= {"flow", "anti", "output"}
    root = _drawn_alone(gauss_seidel(), tmp_path)
    kinds = {g.get("class") for g in root.iter("{http://www.w3.org/2000/svg}g")}
    assert not kinds & {"flow", "anti", "output"}


def test_without_graphviz_it_says_that_there_is_no_nest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pg.without_proofs():
        knl = pg.make_kernel(
            "{ [i,j]: 0<=i,j<n }", "a[i,j] = 1 {id=x}\nb[i] = 1 {id=y}\nc[j] = 1 {id=z}"
        )
    monkeypatch.setenv("PATH", str(tmp_path))
    assert any("no loop nest has one loop" in text for text in _texts(_drawn_alone(knl, tmp_path)))


def test_a_graphviz_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho 'no such plugin' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DrawingFailed, match=r"(?s)exit status 3.*no such plugin"):
        pg.show_dependency_graph(transpose_then_double(), tmp_path / "graph.svg")


@needs("Graphviz")
def test_pictures_go_to_files_named_as_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = pg.show_dependency_graph(transpose_then_double(), format="png")
    assert file == Path("polygen_kernel.png")
    assert file.read_bytes().startswith(b"\x89PNG")


@needs("Graphviz")
@pytest.mark.parametrize("knl", [transpose_then_double(), nasty()], ids=["plain", "nasty"])
def test_graphviz_draws_what_the_kernel_says(tmp_path: Path, knl: pg.Kernel) -> None:
    file = pg.show_dependency_graph(knl, tmp_path / "graph.svg")
    assert file is not None
    root = ET.fromstring(file.read_text(encoding="utf-8"))  # noqa: S314  (dot's own output)
    texts = {t.text for t in root.iter("{http://www.w3.org/2000/svg}text")}
    # Graphviz writes no-break spaces for spaces.
    shown = {(t or "").replace("\xa0", " ") for t in texts}
    for insn in knl.instructions:
        assert insn.id in shown
    assert set(knl.inames) <= shown
    titles = [t.text for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len([t for t in titles if t and "->" in t]) == 1


@needs("Graphviz")
def test_graphviz_draws_dependences(tmp_path: Path) -> None:
    file = pg.show_dependency_graph(gauss_seidel(), tmp_path / "graph.svg", with_dependences=True)
    assert file is not None
    root = ET.fromstring(file.read_text(encoding="utf-8"))  # noqa: S314  (dot's own output)
    shown = {
        (t.text or "").replace("\xa0", " ") for t in root.iter("{http://www.w3.org/2000/svg}text")
    }
    assert shown >= {"flow a (1, -1)", "flow a (0, 1)", "anti a (1, -1)", "output a (1, 0)"}


@needs("Graphviz")
def test_operators_and_entities_come_out_as_written(tmp_path: Path) -> None:
    file = pg.show_dependency_graph(nasty(), tmp_path / "graph.svg")
    assert file is not None
    root = ET.fromstring(file.read_text(encoding="utf-8"))  # noqa: S314  (dot's own output)
    shown = "\n".join(
        (t.text or "").replace("\xa0", " ") for t in root.iter("{http://www.w3.org/2000/svg}text")
    )
    assert '&amp; = if(a"; \\N \\l < 3, a"; \\N \\l | 1, a"; \\N \\l & 7)' in shown
    assert 'if a"; \\N \\l >= 0' in shown
    assert 'b = ~a"; \\N \\l' in shown
