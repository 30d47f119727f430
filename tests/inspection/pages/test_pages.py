"""What notebooks show of kernels, and reports: the HTML, without a browser."""

import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import polygen as pg
from polygen.errors import InvalidArgument
from polygen.inspection.pages import notebook
from polygen.inspection.pages.elements import Html, element
from polygen.inspection.pages.highlight import highlighted
from polygen.inspection.pages.svg_graph import graph
from polygen.ir import expression as ex
from polygen.ir.domain import parse_domain
from tests.language.test_round_trip import kernels

EVIL = '"></pre><script>alert(1)</script>&lt;'


@pytest.fixture(scope="module", autouse=True)
def _no_hurry() -> Iterator[None]:
    """Nothing is left out because other processes keep the machine busy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebook, "_SECONDS", 3600.0)
        yield


def parsed(html: str) -> ET.Element:
    """What polygen writes is well-formed XML, too."""
    return ET.fromstring(html)  # noqa: S314


def tree(whole: pg.Kernel | pg.TranslationUnit) -> ET.Element:
    return parsed(whole._repr_html_())


def text(node: ET.Element) -> str:
    return "".join(node.itertext())


def folds(root: ET.Element) -> dict[str, ET.Element]:
    """What can be opened, by the first word or words of its title."""
    found = {}
    for details in root.iter("details"):
        heading = next((h for h in details[0] if h.tag in {"h2", "strong"}), details[0])
        found[text(heading)] = details
    return found


def row_sum() -> pg.Kernel:
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        """
        <> acc = 0  {id=init, inames=i}
        acc = acc + a[i,j]  {id=update, inames=i:j, dep=init}
        out[i] = acc  {id=store, inames=i, dep=update}
        """,
        name="row_sum",
    )
    return pg.add_dtypes(knl, {"a": np.float32})


def recipe() -> list[pg.Kernel]:
    """A kernel after each of some steps."""
    found = [row_sum()]
    found.append(pg.split_iname(found[-1], "i", 16, outer_tag="g.0", inner_tag="l.0"))
    found.append(pg.split_iname(found[-1], "j", 4, inner_tag="unr"))
    found.append(pg.assume(found[-1], "n mod 16 = 0"))
    return found


def two_kernels() -> pg.TranslationUnit:
    data = [pg.GlobalArg("a", shape="n, 4"), pg.GlobalArg("out", shape="n, 4"), "..."]
    rows = pg.make_kernel(
        "{ [i]: 0<=i<n }", "[j]: out[i, j] = twice([j]: a[i, j])", data, name="rows"
    )
    twice = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k]", name="twice")
    return pg.merge([rows, twice])


def test_all_of_a_kernels_text_is_there() -> None:
    knl = recipe()[-1]
    shown = folds(tree(knl))
    title = ""
    for line in str(knl).splitlines()[2:]:
        if line.endswith(":") and line.isupper():
            title = line[:-1].capitalize()
        elif not line.startswith("---"):
            assert line in text(shown[title][1]).splitlines()


def test_each_step_says_what_it_changed() -> None:
    with pg.without_proofs():
        kernels = recipe()
    root = tree(kernels[-1])
    _, *steps = root.findall(".//ol/li/details")
    changes = [text(step[1]) for step in steps]
    assert changes == [pg.diff(old, new) for old, new in pairwise(kernels)]
    titles = [text(step[0]) for step in steps]
    assert titles[0] == "pg.split_iname(knl, 'i', 16, outer_tag='g.0', inner_tag='l.0')"
    marked = [span for span in root.iter("span") if span.get("class") in {"added", "removed"}]
    assert marked
    for span in marked:
        assert text(span)[0] == {"added": "+", "removed": "-"}[span.get("class") or ""]


def test_what_proofs_settle_is_told_apart() -> None:
    """Without proofs, nothing settles which of two new loops is outside."""
    proved = recipe()[-1]
    with pg.without_proofs():
        assumed = recipe()[-1]
    assert proved != assumed
    last = tree(proved).findall(".//ol/li/details")[-1]
    assert text(last[0]) == "settled by the proofs of these steps"
    assert text(last[1]) == pg.diff(assumed, proved)


def test_a_step_of_ones_own_is_shown() -> None:
    @pg.transformation
    def renamed(kernel: pg.Kernel, new: str) -> pg.Kernel:
        return pg.rename_iname(kernel, "i", new)

    steps = tree(renamed(row_sum(), "row")).findall(".//ol/li/details")
    assert text(steps[-1][0]) == "renamed(new='row')"


@pytest.mark.parametrize(
    ("target", "title"), [("opencl", "OpenCL C"), ("cuda", "CUDA C++"), ("c", "C with OpenMP")]
)
def test_the_source_for_each_target(target: str, title: str) -> None:
    knl = recipe()[-1]
    shown = folds(tree(knl))[f"Source: {title}"]
    assert text(shown[1]) == str(pg.generate_code(knl, target))


def test_what_cannot_be_generated_says_why() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    shown = folds(tree(knl))["Source: CUDA C++"]
    with pytest.raises(pg.errors.TypeNotFound) as refused:
        pg.generate_code(knl, "cuda")
    assert text(shown[1]).startswith("TypeNotFound: " + refused.value.what)


def test_warnings_stand_on_the_page_and_are_issued_when_code_is_generated() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 2*a[i,j]", name="twice")
    knl = pg.add_dtypes(knl, {"a": np.float32})
    said = [text(p) for p in tree(knl).findall("p") if "which of these loops is outside" in text(p)]
    assert len(said) == 1
    with pytest.warns(pg.AmbiguousNesting):
        pg.generate_code(knl)


def test_past_the_budget_parts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "_SECONDS", 0.0)
    shown = folds(tree(row_sum()))
    assert "Left out" in text(shown["Source: OpenCL C"])
    assert "pg.report" in text(shown["Source: OpenCL C"])


def test_it_is_quick() -> None:
    knl = recipe()[-1]
    knl._repr_html_()
    start = time.process_time()
    knl._repr_html_()
    assert time.process_time() - start < 0.3


def test_several_in_one_notebook_have_no_names_that_clash_and_no_headings() -> None:
    for node in tree(row_sum()).iter():
        assert "id" not in node.attrib
        assert node.tag not in {"h1", "h2", "h3", "h4", "h5", "h6"}


def test_a_program_shows_its_kernels() -> None:
    root = tree(two_kernels())
    titles = [text(details[0][0]) for details in root.findall("details")]
    assert titles == ["Kernel rows", "Kernel twice"]
    assert "Entry points: rows" in text(root)


def test_nothing_of_the_users_becomes_markup(tmp_path: Path) -> None:
    names = (f"a{EVIL}", f"b{EVIL}")
    insn = pg.Assignment(
        id=f"x{EVIL}",
        assignee=ex.Subscript(ex.Variable(names[0]), ex.Variable("i")),
        expression=ex.Subscript(ex.Variable(names[1]), ex.Variable("i")),
        within_inames=frozenset(["i"]),
    )
    domain = parse_domain("{ [i]: 0<=i<4 }")
    # Without types, so that no source is generated, which is to be compiled after each test.
    preamble = ("opencl", EVIL, f"// {EVIL}")
    arrays = tuple(pg.GlobalArg(name, None, (4,)) for name in names)
    knl = pg.Kernel(f"<i>{EVIL}", (domain,), (insn,), arrays, preambles=(preamble,))
    plain = tree(row_sum())
    known = {node.tag for node in plain.iter()}
    assert {node.tag for node in tree(knl).iter()} <= known
    for name in (insn.id, knl.name, *names, preamble[2]):
        assert name in text(tree(knl))
    report = page(pg.report(knl, tmp_path / "r.html"))
    assert knl.name in [text(h) for h in report.iter("h1")]
    assert not list(report.iter("script"))
    for evil in (EVIL, "'", "<!--", "]]>"):
        assert text(parsed(element("p", evil, title=evil))) == evil
        assert parsed(element("p", title=evil)).get("title") == evil
        assert text(parsed(f"<p>{highlighted(evil, {})}</p>")) == evil
    assert element("p", Html("<b>x</b>")) == "<p><b>x</b></p>"


def arcs(root: ET.Element, kind: str) -> list[str]:
    found = [g for g in root.iter("g") if g.get("class") == kind]
    return [text(g[0]) for g in found]


def test_the_graph_has_an_arc_for_each_dependence() -> None:
    knl = row_sum()
    root = parsed(graph(knl, pg.dependences(knl)))
    drawn = Counter({kind: len(arcs(root, kind)) for kind in ("flow", "anti", "output")})
    assert drawn == Counter(d.kind for d in pg.dependences(knl))
    assert sorted(arcs(root, "declared")) == [
        "'store' comes after 'update'",
        "'update' comes after 'init'",
    ]
    titles = {text(title) for title in root.iter("title")}
    assert {"i", "j"} <= titles


def boxes(root: ET.Element) -> Iterator[tuple[str, float, float, float, float]]:
    for group in root.iter("g"):
        if (rect := group.find("rect")) is not None:
            x, y, width, height = (float(rect.get(k) or 0) for k in ("x", "y", "width", "height"))
            yield text(group.findall("text")[0]), x, y, x + width, y + height


def test_the_graph_of_a_kernel_that_calls() -> None:
    """Dependences are of what is called; their arcs end at the calls."""
    data = [pg.GlobalArg(name, np.float64, shape="n, n") for name in "abcd"]
    text = 'c = library("gemm", a, b)  {id=c}\nd = library("gemm", c, b)  {id=d, dep=c}'
    knl = pg.make_kernel("{ : }", text, [*data, "..."])
    (found,) = pg.dependences(knl)
    assert "c_insn" in str(found)
    assert " ".join(str(found).split()) in text_of_graph(knl)


def text_of_graph(knl: pg.Kernel) -> str:
    return text(parsed(str(graph(knl, pg.dependences(knl)))))


def test_the_graph_is_in_the_order_of_execution_and_boxes_hold_what_they_hold() -> None:
    knl = row_sum()
    places = {name: place for name, *place in boxes(parsed(graph(knl, ())))}
    inside = {"init": "i", "update": "j", "j": "i", "store": "i"}
    for inner, outer in inside.items():
        x, y, right, bottom = places[inner]
        assert places[outer][0] < x < right < places[outer][2]
        assert places[outer][1] < y < bottom < places[outer][3]
    heights = [places[name][1] for name in ("init", "update", "store")]
    assert heights == sorted(heights)


def test_a_parallel_iname_has_a_box_for_each_run_of_neighbours() -> None:
    """So that what comes between stands between."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<16 }", "{ [j]: 0<=j<16 }", "{ [k]: 0<=k<16 }"],
        """
        b[i] = a[i]  {id=first}
        c[j] = b[15-j]  {id=second, dep=first}
        d[k] = c[15-k]  {id=third, dep=second}
        """,
    )
    knl = pg.tag_inames(knl, {"i": "l.0", "k": "l.0"})
    drawn = list(boxes(parsed(graph(knl, ()))))
    heights = {name: y for name, _, y, _, _ in drawn}
    assert heights["first"] < heights["second"] < heights["third"]


def test_no_two_arcs_lie_over_each_other() -> None:
    lines = [f"a{k + 1}[i] = " + " + ".join(f"a{j}[i]" for j in range(k + 1)) for k in range(6)]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "\n".join(lines))
    root = parsed(graph(knl, pg.dependences(knl)))
    paths = [p.get("d") for p in root.iter("path") if p.get("class") == "arc"]
    assert len(paths) > 20
    assert len(set(paths)) == len(paths)
    ends = [p.get("d", "").split("l")[0] for p in root.iter("path") if p.get("class") == "head"]
    assert len(set(ends)) == len(ends)


def test_a_kernel_without_a_nest_is_drawn_all_the_same() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }", "a[i] = 1 {id=x, dep=*}\nb[j] = 2 {id=y, dep=*}", name="loose"
    )
    first, second = knl.instructions
    circle = knl.copy(
        instructions=(
            first.copy(depends_on=frozenset(["y"])),
            second.copy(depends_on=frozenset(["x"])),
        )
    )
    assert "must come after another" in graph(circle, ())


@pytest.mark.more
@settings(max_examples=5, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(kernels())
def test_random_kernels(knl: pg.Kernel) -> None:
    shown = folds(tree(knl))
    for line in str(knl).splitlines():
        if line.startswith("[") and "{id=" in line:
            assert line in text(shown["Instructions"])


# --- reports


def page(path: Path) -> ET.Element:
    written = path.read_text(encoding="utf-8")
    assert written.startswith("<!DOCTYPE html>\n")
    return parsed(written.split("\n", 1)[1])


def test_a_report_has_all_parts_and_links_to_them(tmp_path: Path) -> None:
    knl = recipe()[-1]
    limits = pg.Limits(3e12, 60e12)
    sizes = {"n": 1024, "m": 100}
    path = pg.report(knl, tmp_path / "r.html", sizes=sizes, limits=limits, measured=1e-3)
    root = page(path)
    links = [(text(a), a.get("href")) for a in root.iter("a")]
    names = [node.get("id") for node in root.iter() if "id" in node.attrib]
    assert [href for _, href in links] == [f"#{name}" for name in names]
    assert len(set(names)) == len(names)
    shown = folds(root)
    assert {title for title, _ in links} <= set(shown)
    assert str(pg.roofline(knl, limits, sizes, 1e-3)) in text(shown["Roofline"])
    assert pg.kernel_to_python(knl) in text(shown["Script"])
    assert str(pg.lower_kernel(knl)) in text(shown["Loops before they become text"])
    assert str(pg.parallel_inames(knl)) in text(shown["Loops that may be parallel"])
    cells = [[text(cell) for cell in row] for row in shown["Operations"].iter("tr")]
    # n*m additions of floats, counted by hand.
    assert ["float32", "add", f"{1024 * 100:,}"] in [row[:3] for row in cells]
    touched = [[text(cell) for cell in row] for row in shown["Bytes that are touched"].iter("tr")]
    assert ["a", "read", f"{4 * 1024 * 100:,}"] in [row[:3] for row in touched]


def test_a_report_needs_nothing_beside_itself(tmp_path: Path) -> None:
    root = page(pg.report(two_kernels(), tmp_path / "r.html"))
    for node in root.iter():
        assert node.tag not in {"script", "link", "iframe"}
        for name in ("src", "href"):
            assert node.get(name, "#").startswith(("#", "data:"))
    assert "url(" not in "".join(text(style) for style in root.iter("style"))
    assert [text(h) for h in root.iter("h1")] == ["rows", "twice"]


def test_the_same_report_is_the_same_text(tmp_path: Path) -> None:
    knl = row_sum()
    first, second = (
        pg.report(knl, tmp_path / name, drawn_at={"n": 3, "m": 4}).read_text() for name in "ab"
    )
    assert first == second
    assert first.count("<img") == 1


def test_a_size_that_is_missing_leaves_formulas(tmp_path: Path) -> None:
    shown = folds(page(pg.report(row_sum(), tmp_path / "r.html", sizes={"m": 3})))
    table = text(shown["Operations"])
    assert str(next(iter(pg.get_op_map(row_sum()).values()))) in table
    assert "MissingArgument" in table
    assert "'n'" in table


def test_what_data_decides_stands_in_the_report(tmp_path: Path) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "a[index[i]] = b[i]  {id=put}", [pg.GlobalArg("a", shape="n"), "..."]
    )
    shown = folds(page(pg.report(knl, tmp_path / "r.html")))
    for obligation in pg.obligations(knl):
        assert str(obligation) in text(shown["What is proved"])
    trusting = pg.assume_injective(knl, "index")
    shown = folds(page(pg.report(trusting, tmp_path / "r.html")))
    assert str(trusting.claims[0]) in text(shown["What is proved"])


def test_a_kernel_that_is_not_well_formed_says_so(tmp_path: Path) -> None:
    with pg.without_proofs():
        knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[0] = i")
        knl = pg.tag_inames(knl, {"i": "g.0"})
    shown = folds(page(pg.report(knl, tmp_path / "r.html")))
    assert "UnorderedAccess: kernel" in text(shown["What is proved"])


def test_limits_need_sizes_and_a_time_needs_limits(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="was given limits, but no sizes"):
        pg.report(row_sum(), tmp_path / "r.html", limits=pg.Limits(1e12, 1e12))
    with pytest.raises(InvalidArgument, match="was given measured, but no limits"):
        pg.report(row_sum(), tmp_path / "r.html", measured=1.0)
    assert not list(tmp_path.iterdir())
