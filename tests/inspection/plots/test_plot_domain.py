"""Pictures of iteration domains: what is in them is counted, and compared with brute force."""

import itertools
import sys
from collections.abc import Callable, Iterator
from io import BytesIO, StringIO
from typing import Any

import islpy as isl
import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

import polygen as pg
from polygen.errors import (
    AssumptionViolated,
    InvalidArgument,
    MissingArgument,
    NoMatplotlib,
    NothingMatches,
    UnknownIname,
)
from polygen.inspection.plots.polyhedra_corners import hull, outlines
from tests.few import few

Place = tuple[float, ...]


@pytest.fixture(autouse=True)
def _off_screen() -> Iterator[None]:
    with mpl.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def triangle() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i,j]: 1<=i<n and 0<=j<=i }",
        "a[i,j] = a[i-1,j] + 1  {id=add}",
        [pg.GlobalArg("a", shape="n, n"), "..."],
        name="triangle",
        loop_priority="i, j",
    )


def sweep() -> pg.Kernel:
    """Gauss and Seidel's: flow, anti- and output dependences."""
    return pg.make_kernel(
        ["{ [t]: 0<=t<steps }", "{ [i]: 1<=i<n-1 }"],
        "a[i] = a[i-1] + a[i+1]  {id=relax, inames=t:i}",
        name="sweep",
        loop_priority="t, i",
    )


def product() -> pg.Kernel:
    return pg.make_kernel(
        "{ [i,j,k]: 0<=i,j,k<n }",
        "c[i,j] = c[i,j] + a[i,k]*b[k,j]  {id=add}",
        name="product",
        loop_priority="i, j, k",
    )


def points(ax: Any) -> list[Place]:
    """Where the points are that are drawn."""
    found: list[Place] = []
    for drawn in ax.collections:
        if isinstance(drawn, PathCollection):
            seen: Any = drawn
            places = seen._offsets3d if hasattr(seen, "_offsets3d") else seen.get_offsets().T
            found += [tuple(map(float, place)) for place in zip(*places, strict=True)]
    return sorted(found)


def arrows(ax: Any, style: str) -> list[tuple[Place, Place]]:
    found = [t for t in ax.texts if t.arrowprops and t.arrowprops["linestyle"] == style]
    return sorted((tuple(t.xyann), tuple(t.xy)) for t in found)


def numbers(ax: Any) -> dict[Place, int]:
    return {tuple(t.xy): int(t.get_text()) for t in ax.texts if t.get_text()}


def corners(ax: Any) -> set[Place]:
    """Of all outlines."""
    return {tuple(map(float, c)) for line in ax.lines for c in line.get_xydata()}


@pytest.mark.parametrize("n", [2, 3, 8])
def test_a_triangle(n: int) -> None:
    ax = pg.plot_domain(triangle(), {"n": n})
    assert points(ax) == [(i, j) for i in range(1, n) for j in range(i + 1)]
    assert corners(ax) == {(1, 0), (1, 1), (n - 1, 0), (n - 1, n - 1)}
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("i", "j", f"triangle: n = {n}")
    assert all(tick == int(tick) for tick in (*ax.get_xticks(), *ax.get_yticks()))


def test_tiles_hold_what_they_hold_and_those_at_the_border_are_smaller() -> None:
    knl = pg.split_iname(pg.split_iname(triangle(), "i", 4), "j", 4)
    axes = "4*i_outer + i_inner, 4*j_outer + j_inner"
    ax = pg.plot_domain(knl, {"n": 10}, axes, tiles="i_outer, j_outer")
    places = [(i, j) for i in range(1, 10) for j in range(i + 1)]
    assert points(ax) == places
    tiles = [patch.get_path() for patch in ax.patches]
    wanted = {(i // 4, j // 4) for i, j in places}
    held = [frozenset(p for p in places if tile.contains_point(p)) for tile in tiles]
    assert sorted(map(sorted, held)) == sorted(
        [p for p in places if (p[0] // 4, p[1] // 4) == tile] for tile in wanted
    )


def executed(steps: int, n: int) -> dict[str, set[tuple[Place, Place]]]:
    """The direct dependences of `sweep`, by running it: places are (t, i)."""
    found: dict[str, set[tuple[Place, Place]]] = {"flow": set(), "anti": set(), "output": set()}
    written: dict[int, Place] = {}
    read: dict[int, list[Place]] = {}
    for t, i in itertools.product(range(steps), range(1, n - 1)):
        here = (float(t), float(i))
        for element in (i - 1, i + 1):
            if element in written:
                found["flow"].add((written[element], here))
            read.setdefault(element, []).append(here)
        found["anti"] |= {(there, here) for there in read.pop(i, [])}
        if i in written:
            found["output"].add((written[i], here))
        written[i] = here
    return found


def test_arrows_are_the_dependences_that_running_it_shows() -> None:
    ax = pg.plot_domain(sweep(), {"steps": 4, "n": 9}, ("t", "i"), dependences=True)
    wanted = executed(4, 9)
    for kind, style in (("flow", "-"), ("anti", "--"), ("output", ":")):
        assert arrows(ax, style) == sorted(wanted[kind])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["flow", "anti", "output"]


def test_arrows_of_one_kind_and_of_a_part() -> None:
    ax = pg.plot_domain(product(), {"n": 3}, ("j", "k"), at={"i": 1}, dependences="flow")
    assert points(ax) == [(j, k) for j in range(3) for k in range(3)]
    assert arrows(ax, "-") == [((j, k), (j, k + 1)) for j in range(3) for k in range(2)]
    assert not arrows(ax, ":")
    assert ax.get_title() == "product: n = 3, i = 1"


def test_a_deeper_nest_is_projected() -> None:
    ax = pg.plot_domain(product(), {"n": 3}, ("i", "j"), dependences=True)
    assert points(ax) == [(i, j) for i in range(3) for j in range(3)]
    assert not ax.texts  # all dependences are along k


def test_skewed_loops_run_in_waves() -> None:
    knl = pg.wavefront(sweep(), "t", "i")
    ax = pg.plot_domain(knl, {"steps": 4, "n": 9}, dependences=True, order="numbers")
    assert len(points(ax)) == 4 * 7
    times = numbers(ax)
    for style in ("-", "--", ":"):
        assert arrows(ax, style)
        assert all(times[start] < times[end] for start, end in arrows(ax, style))
    assert len(set(times.values())) < len(times)


def test_numbers_are_the_order_of_execution() -> None:
    ax = pg.plot_domain(triangle(), {"n": 6}, order="numbers")
    order = [(i, j) for i in range(1, 6) for j in range(i + 1)]
    assert numbers(ax) == {place: time for time, place in enumerate(order)}
    swapped = pg.interchange(triangle(), "i", "j")
    ax = pg.plot_domain(swapped, {"n": 6}, ("i", "j"), order="numbers")
    order = [(i, j) for j in range(6) for i in range(max(1, j), 6)]
    assert numbers(ax) == {place: time for time, place in enumerate(order)}


def test_what_is_parallel_has_one_time() -> None:
    knl = pg.tag_inames(triangle(), {"j": "l.0"})
    ax = pg.plot_domain(knl, {"n": 6}, ("i", "j"), order="numbers")
    assert numbers(ax) == {(i, j): i - 1 for i in range(1, 6) for j in range(i + 1)}


def test_the_path_of_a_single_item_and_of_several() -> None:
    ax = pg.plot_domain(triangle(), {"n": 5}, order="path")
    *_, path = ax.lines
    order = [(i, j) for i in range(1, 5) for j in range(i + 1)]
    assert [tuple(p) for p in path.get_xydata()] == order
    knl = pg.tag_inames(triangle(), {"j": "l.0"})
    ax = pg.plot_domain(knl, {"n": 5}, ("i", "j"), order="path")
    paths = [[tuple(p) for p in line.get_xydata()] for line in ax.lines[1:]]
    assert paths == [[(i, j) for i in range(max(1, j), 5)] for j in range(5)]


def test_several_instructions_have_markers_of_their_own_and_stand_beside_each_other() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }",
        """
        b[i,j] = 2*a[i,j]  {id=first}
        c[i,j] = b[i,j] + 1  {id=second, dep=first}
        """,
        loop_priority="i, j",
        name="two",
    )
    ax = pg.plot_domain(knl, {"n": 3}, dependences=True, order="numbers")
    square = [(i, j) for i in range(3) for j in range(3)]
    assert points(ax) == sorted((i + s, float(j)) for i, j in square for s in (-0.12, 0.12))
    assert arrows(ax, "-") == sorted(((i - 0.12, j), (i + 0.12, j)) for i, j in square)
    times = {time: place for place, time in numbers(ax).items()}
    assert [times[2 * k] for k in range(9)] == [(i - 0.12, j) for i, j in square]
    assert [times[2 * k + 1] for k in range(9)] == [(i + 0.12, j) for i, j in square]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["flow", "first", "second"]
    ax = pg.plot_domain(knl, {"n": 3}, within="id:second")
    assert points(ax) == square
    other = pg.plot_domain(knl, {"n": 3}, within="id:first", ax=ax)
    assert other is ax
    assert len(points(ax)) == 18


def test_where_code_is_separate_there_are_two_outlines() -> None:
    whole = pg.plot_domain(triangle(), {"n": 6})
    ax = pg.plot_domain(pg.index_set_split(triangle(), "j < 2"), {"n": 6})
    assert points(ax) == points(whole)
    polygons = [sorted({tuple(c) for c in line.get_xydata()}) for line in ax.lines]
    assert sorted(polygons) == [[(1, 0), (1, 1), (5, 0), (5, 1)], [(2, 2), (5, 2), (5, 5)]]


def test_conditions_limit_what_is_executed() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "a[i,j] = 1  {if=i + j < n, id=set}", name="corner")
    ax = pg.plot_domain(knl, {"n": 5})
    assert points(ax) == [(i, j) for i in range(5) for j in range(5) if i + j < 5]
    assert corners(ax) == {(0, 0), (0, 4), (4, 0)}


def test_where_data_decides_all_is_drawn() -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }",
        "a[i,j] = 1  {if=limit > i and b[i] > 0, id=set}",
        [pg.ValueArg("limit", "float64"), "..."],
        name="data",
    )
    ax = pg.plot_domain(knl, {"n": 3})
    assert points(ax) == [(i, j) for i in range(3) for j in range(3)]


def test_strides_are_points_between_which_nothing_is() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n and (i + j) mod 2 = 0 }", "a[i,j] = 1", name="checkers")
    ax = pg.plot_domain(knl, {"n": 5})
    assert points(ax) == [(i, j) for i in range(5) for j in range(5) if (i + j) % 2 == 0]


def test_colours_tell_values_in_the_legend_or_beside_a_bar() -> None:
    ax = pg.plot_domain(triangle(), {"n": 6}, colour="i % 2")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["i % 2 = 0", "i % 2 = 1"]
    (drawn,) = (c for c in ax.collections if len(c.get_offsets()))
    by_parity: dict[int, set[tuple[float, ...]]] = {0: set(), 1: set()}
    for (i, _), shade in zip(drawn.get_offsets(), drawn.get_facecolors(), strict=True):
        by_parity[int(i) % 2].add(tuple(shade))
    assert [len(shades) for shades in by_parity.values()] == [1, 1]
    assert by_parity[0] != by_parity[1]
    ax = pg.plot_domain(triangle(), {"n": 8}, order="colours")
    assert len(ax.figure.axes) == 2
    assert ax.figure.axes[1].get_ylabel() == "time"


def test_three_dimensions() -> None:
    knl = product()
    for iname in "ijk":
        knl = pg.split_iname(knl, iname, 2)
    axes = [f"2*{iname}_outer + {iname}_inner" for iname in "ijk"]
    tiles = [f"{iname}_outer" for iname in "ijk"]
    ax = pg.plot_domain(knl, {"n": 4}, axes, tiles=tiles, dependences="flow")
    cube = list(itertools.product(range(4), repeat=3))
    assert points(ax) == cube
    solids = [c for c in ax.collections if isinstance(c, Poly3DCollection)]
    assert len(solids) == 8
    assert len(ax.lines) == 6 + 1  # the faces of the cube, and what the legend shows
    (quiver,) = (c for c in ax.collections if type(c) is Line3DCollection)
    # A shaft runs from its tip to its tail; the other lines are heads, which start at tips, too.
    lines = [[tuple(round(float(x)) for x in end) for end in s] for s in quiver._segments3d]
    wanted = {((i, j, k), (i, j, k + 1)) for i, j, k in cube if k < 3}
    assert {(tail, tip) for tip, tail in lines[: len(wanted)]} == wanted
    assert len(lines) == 3 * len(wanted)


def test_a_sum_is_drawn_along_its_own_loop() -> None:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j])", name="product"
    )
    ax = pg.plot_domain(knl, {"n": 3}, ("i", "j", "k"))
    assert points(ax) == list(itertools.product(range(3), repeat=3))


def test_a_single_loop_needs_a_second_axis() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = a[i-1] + 1 {if=i>0}", name="line")
    with pytest.raises(InvalidArgument, match=r"axes=\('i', '0'\)"):
        pg.plot_domain(knl, {"n": 4})
    ax = pg.plot_domain(knl, {"n": 4}, ("i", "0"), dependences=True)
    assert points(ax) == [(1, 0), (2, 0), (3, 0)]
    assert arrows(ax, "-") == [((1, 0), (2, 0)), ((2, 0), (3, 0))]


def test_the_same_picture_is_the_same_text() -> None:
    def svg() -> str:
        ax = pg.plot_domain(triangle(), {"n": 5}, dependences=True)
        text = StringIO()
        with mpl.rc_context({"svg.hashsalt": "x"}):
            ax.figure.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()

    assert svg() == svg()


def test_what_cannot_be_drawn_is_refused() -> None:
    knl = triangle()
    for arguments, said in (
        ({"axes": ("i",)}, "to draw along 1 axes: 'i'"),
        ({"axes": ("i*j", "j")}, "'i\\*j' is not affine"),
        ({"order": "spiral"}, "order='spiral'"),
        ({"dependences": "input"}, "dependences='input'"),
        ({"order": "colours", "colour": "i"}, "both are to say what colours mean"),
        ({"at": {"i": 77}}, "nothing to draw of kernel 'triangle'"),
        ({"at": {"i": "x"}}, "given at="),
        ({"sizes": {"n": 400}}, "more than 10000 points"),
        ({"sizes": {"n": 2.5}}, "given sizes="),
        ({"sizes": {"n": 5, "i": 1}}, "'i' was given as a size, and is an iname"),
        ({"sizes": {"n": 1}}, "nothing to draw"),
    ):
        given: dict[str, Any] = {"sizes": {"n": 5}, **arguments}
        with pytest.raises(InvalidArgument, match=said):
            pg.plot_domain(knl, **given)
    with pytest.raises(InvalidArgument, match="does not have the 2 axes"):
        pg.plot_domain(knl, {"n": 5}, ax=plt.figure().add_subplot(projection="3d"))
    with pytest.raises(UnknownIname, match="'l'"):
        pg.plot_domain(knl, {"n": 5}, ("i", "l"))
    with pytest.raises(UnknownIname, match="'l'"):
        pg.plot_domain(knl, {"n": 5}, at={"l": 1})
    with pytest.raises(MissingArgument, match="needs a value of 'n'"):
        pg.plot_domain(knl, {})
    with pytest.raises(AssumptionViolated, match="do not hold for n=5"):
        pg.plot_domain(pg.assume(knl, "n mod 4 = 0"), {"n": 5})
    with pytest.raises(NothingMatches):
        pg.plot_domain(knl, {"n": 5}, within="writes:a and reads:a and not id:add")


def test_without_matplotlib_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.split(".")[0] in {"matplotlib", "mpl_toolkits"}]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NoMatplotlib, match=r"pip install polygen\[plots\]"):
        pg.plot_domain(triangle(), {"n": 5})


SETS = [
    "{ [i, j] : 0 <= j <= i < 7 }",
    "{ [i, j] : 0 <= i < 9 and 0 <= 2j <= i }",
    "{ [i, j] : 3i + 2j <= 17 and i >= 0 and j >= -1 and i <= 2 + j }",
    "{ [i, j] : i = j and 0 <= i < 4 }",
    "{ [i, j] : i = 2 and j = 3 }",
    "{ [i, j, k] : 0 <= i < 4 and 0 <= j < 3 and 0 <= k < 2 }",
    "{ [i, j, k] : 0 <= i and 0 <= j and 0 <= k and i + j + k <= 5 }",
    "{ [i, j, k] : i = 2 and 0 <= j <= k < 4 }",
    "{ [i, j, k] : 0 <= k <= j <= i and 2i + k <= 11 }",
]


def vertices(values: isl.Set) -> set[tuple[str, ...]]:
    """The corners that isl finds, once it knows which inequalities hold just so for integers."""
    found: set[tuple[str, ...]] = set()

    def note(vertex: Any) -> None:
        at = vertex.get_expr()
        parts = (at.get_at(k) for k in range(at.dim(isl.dim_type.out)))
        found.add(tuple(str(part.get_constant_val()) for part in parts))

    for piece in values.coalesce().get_basic_sets():
        piece.detect_equalities().compute_vertices().foreach_vertex(note)
    return found


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(*[st.integers(-3, 3)] * 3, st.integers(-6, 12)), max_size=4))
def test_corners_of_random_polyhedra(rows: list[tuple[int, int, int, int]]) -> None:
    box = "0 <= i <= 5 and 0 <= j <= 5 and 0 <= k <= 4"
    cuts = [f" and {a}i + {b}j + {c}k + {d} >= 0" for a, b, c, d in rows]
    values = isl.Set(f"{{ [i, j, k] : {box}{''.join(cuts)} }}")
    drawn = {tuple(map(str, c)) for faces in outlines(values) for face in faces for c in face}
    assert drawn == vertices(values)


@pytest.mark.parametrize("text", SETS)
def test_corners_are_those_that_isl_finds(text: str) -> None:
    (faces,) = outlines(isl.Set(text))
    corners = {tuple(map(str, corner)) for face in faces for corner in face}
    (piece,) = isl.Set(text).get_basic_sets()
    assert corners == vertices(isl.Set(text))
    if len(corners) > 3 and piece.dim(isl.dim_type.set) == 3 and "i = 2" not in text:
        edges = {frozenset(e) for f in faces for e in zip(f, (*f[1:], f[0]), strict=True)}
        assert len(corners) - len(edges) + len(faces) == 2  # Euler


def test_the_hull_of_points() -> None:
    grid = [(float(x), float(y)) for x in range(4) for y in range(3)]
    assert hull(grid) == [(0, 0), (3, 0), (3, 2), (0, 2)]
    assert hull([(1.0, 1.0)]) == [(1.0, 1.0)]


def _drawings() -> dict[str, Callable[[], Any]]:
    sizes = {"steps": 4, "n": 10}
    waves = pg.wavefront(sweep(), "t", "i")
    places = "i - 2*t, t"
    return {
        "kinds": lambda: pg.plot_domain(sweep(), sizes, "i, t", dependences=True),
        "few": lambda: pg.plot_domain(sweep(), sizes, "i, t", colour="t"),
        "bar": lambda: pg.plot_domain(waves, sizes, places, dependences=True, order="colours"),
        "space": lambda: pg.plot_domain(product(), {"n": 3}, dependences=True),
        "small": lambda: pg.plot_domain(triangle(), {"n": 2}, dependences=True, colour="i + j"),
    }


@few(2, "which", _drawings())
def test_legends_are_inside_of_what_is_saved(which: str) -> None:
    ax = _drawings()[which]()
    ax.figure.savefig(BytesIO(), format="svg")
    legend, whole = ax.get_legend(), ax.figure.bbox
    assert legend.get_texts()
    for part in (legend, *legend.get_texts()):
        box = part.get_window_extent()
        assert whole.x0 <= box.x0 < box.x1 <= whole.x1
        assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    # Nor has it taken the place of the axes.
    assert ax.get_window_extent().height > 0.5 * whole.height


def test_a_figure_of_the_users_keeps_its_size() -> None:
    figure, ax = plt.subplots(figsize=(6, 4))
    pg.plot_domain(sweep(), {"steps": 4, "n": 10}, "i, t", dependences=True, ax=ax)
    assert [*figure.get_size_inches()] == [6, 4]
