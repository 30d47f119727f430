"""`polygen.get_dot_dependency_graph` and `polygen.show_dependency_graph`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path

from polygen.analysis.dataflow.dependences import Dependence, dependences
from polygen.errors import InvalidArgument
from polygen.inspection.pages.graphviz import draw, is_there
from polygen.inspection.pages.nested_boxes import Box, Item, Nesting, nesting
from polygen.inspection.pages.svg_graph import graph_file
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.show import show_work
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import is_parallel
from polygen.source import caller_location

FORMATS = ("dot", "svg", "png")
_WIDTH = 72
_HEAD = """\
  fontname="Helvetica";
  fontsize=11;
  labeljust=l;
  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Courier", fontsize=11];
  edge [arrowsize=0.7, fontname="Courier", fontsize=10];"""
_LOOP = 'style="rounded,filled"; fillcolor="#0000000c"; color="#808080";'
_PARALLEL = 'style="rounded,filled"; fillcolor="#1f6fb414"; color="#1f6fb4";'


_EDGES = {
    "flow": 'color="#000000"',
    "anti": 'color="#b35900", fontcolor="#b35900", style=dashed',
    "output": 'color="#6a3d9a", fontcolor="#6a3d9a", style=dotted',
}
_DECLARED = 'color="#b0b0b0"'


@public
def get_dot_dependency_graph(kernel: Kernel, *, with_dependences: bool = False) -> str:
    r"""Return the dependencies of a kernel's instructions, in Graphviz's language.

    Instructions are nodes; an edge leads from an instruction to one that has to come after it;
    where only some instances have to, it is labelled with the relation that says which.
    The loops around the instructions are nested boxes, as they are in the generated code, and
    parallel inames are boxes too.  Types need not be known.  Instructions for which there is no
    loop nest stand outside of the boxes, with their inames beside them, and the graph's label
    says what is wrong.

    Parameters:
        kernel: its types need not be known.
        with_dependences: draw what `dependences` returns too: an edge for each kind, labelled
            with the variables and distances; dashed for anti-dependences, dotted for output
            dependences.  Those of an instruction on itself are one edge.  The dependencies
            are grey then.

    Raises:
        NoLoopNest, DependencyCycle, ProofLimit: if dependences are wanted, and there is no order,
            or isl has more to do than is reasonable.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 1<=i<n }", "a[i] = 2*a[i-1] {id=double}")
    >>> [line for line in pg.get_dot_dependency_graph(knl).splitlines() if "double" in line]
    ['    "double" [label="double\\la[i] = 2*a[i - 1]\\l"];']
    >>> dot = pg.get_dot_dependency_graph(knl, with_dependences=True)
    >>> [line for line in dot.splitlines() if "->" in line]
    ['  "double" -> "double" [label="flow a (1)\\l", color="#000000"];']
    """
    nest = nesting(kernel)
    lines = [f"digraph {_quoted(kernel.name)} {{", _HEAD]
    if nest.problem is not None:
        lines.append(f"  label={_label(_folded(nest.problem))};")
    lines += _Clusters(kernel, nest).lines(nest.items, "  ")
    look = f" [{_DECLARED}]" if with_dependences else ""
    for insn in kernel.instructions:
        lines += [f"  {_quoted(d)} -> {_quoted(insn.id)}{look};" for d in sorted(insn.depends_on)]
        lines += _relation_edges(insn, grey=with_dependences)
    if with_dependences:
        lines += _dependence_edges(kernel)
    return "\n".join([*lines, "}", ""])


def _relation_edges(insn: Instruction, *, grey: bool) -> Iterator[str]:
    for relation in sorted(insn.happens_after, key=lambda r: (r.first, str(r))):
        label = _label(_folded(str(relation)))
        look = f"label={label}, {_DECLARED}" if grey else f"label={label}"
        yield f"  {_quoted(relation.first)} -> {_quoted(insn.id)} [{look}];"


def _dependence_edges(kernel: Kernel) -> Iterator[str]:
    labels: dict[tuple[str, str, str], list[Dependence]] = {}
    for found in dependences(kernel):
        # Graphviz draws several edges from a node to itself over each other: they are one.
        kind = "" if found.source == found.sink else found.kind
        labels.setdefault((found.source, found.sink, kind), []).append(found)
    for (source, sink, _), together in labels.items():
        label = _label(list(dict.fromkeys(map(_short, together))))
        look = _EDGES[together[0].kind]
        yield f"  {_quoted(source)} -> {_quoted(sink)} [label={label}, {look}];"


def _short(found: Dependence) -> str:
    through = found.array if found.sink_array is None else f"{found.array}, {found.sink_array}"
    distance = f" ({', '.join(map(str, found.distance))})" if found.loops else ""
    return f"{found.kind} {through}{distance}{'' if found.certain else ', may be'}"


@public
def show_dependency_graph(
    kernel: Kernel,
    path: str | PathLike[str] | None = None,
    *,
    format: str | None = None,  # noqa: A002
    with_dependences: bool = False,
) -> Path | None:
    """Show the dependencies of a kernel's instructions, and the loops around them.

    Parameters:
        kernel: its types need not be known.
        path: the file to write; its suffix tells the format.  If not given, the text is
            printed, and a picture goes to a file in the current folder, named as the kernel.
        format: ``"dot"`` (text), ``"svg"`` or ``"png"`` (pictures, drawn by Graphviz; where that
            is not there, an SVG is the drawing that reports have).
        with_dependences: show the dependences too: see `get_dot_dependency_graph`.

    Returns:
        The file that was written, or None if the text was printed.

    Raises:
        InvalidArgument: if there is no such format.
        NoGraphviz: if a PNG is asked for, and the program ``dot`` is not found.
        DrawingFailed: if Graphviz does not draw the graph.
        NoLoopNest, DependencyCycle, ProofLimit: as `get_dot_dependency_graph` does.
    """
    wanted = _format(path, format)
    text = get_dot_dependency_graph(kernel, with_dependences=with_dependences)
    if path is None and wanted == "dot":
        sys.stdout.write(text)
        return None
    file = Path(f"{kernel.name}.{wanted}" if path is None else path)
    if wanted == "svg" and not is_there():
        text = graph_file(kernel, dependences(kernel) if with_dependences else ())
    drawn = wanted == "png" or (wanted == "svg" and is_there())
    file.write_bytes(draw(text, wanted) if drawn else text.encode())
    return file


def _format(path: str | PathLike[str] | None, wanted: str | None) -> str:
    if wanted is None:
        wanted = "dot" if path is None else Path(path).suffix.removeprefix(".").lower()
        asked = "the dependency graph as text" if path is None else f"a file named '{path}'"
    else:
        asked = f"the format {wanted!r}"
    if wanted not in FORMATS:
        raise InvalidArgument(
            f"asked for was {asked}, which says none of the formats of a graph",
            where=caller_location(),
            remedy=f"the formats are: {', '.join(FORMATS)}; a path ends in one of them, "
            "or format= names it",
        )
    return wanted


class _Clusters:
    """Writes boxes as Graphviz's clusters, and counts them."""

    def __init__(self, kernel: Kernel, nest: Nesting) -> None:
        self._kernel = kernel
        self._loose = nest.loose
        self._count = 0

    def lines(self, items: Sequence[Item], indent: str) -> Iterator[str]:
        for item in items:
            if isinstance(item, Box):
                yield from self._cluster(item, indent)
            else:
                yield f"{indent}{_quoted(item.id)} [label={_label(self._node(item))}];"

    def _cluster(self, box: Box, indent: str) -> Iterator[str]:
        tag = self._kernel.tags.get(box.iname)
        yield f"{indent}subgraph cluster_{self._count} {{"
        self._count += 1
        yield f"{indent}  label={_label([box.iname if tag is None else f'{box.iname}: {tag}'])};"
        yield f"{indent}  {_PARALLEL if is_parallel(tag) else _LOOP}"
        yield from self.lines(box.children, indent + "  ")
        yield f"{indent}}}"

    def _node(self, insn: Instruction) -> list[str]:
        """Return the lines of text of an instruction: its id, what it does, its conditions."""
        inames = [i for i in self._kernel.inames if i in insn.within_inames]
        loose = f"[{', '.join(inames)}] " if insn.id in self._loose else ""
        what = show_work(insn)
        conditions = [f"if {show_expression(p)}" for p in insn.predicates]
        return [loose + insn.id, *_folded(what), *(t for c in conditions for t in _folded(c))]


def _folded(text: str) -> list[str]:
    return textwrap.wrap(
        text, _WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )


# PyPI's graphviz.Digraph would save none of these lines: text for which nothing is to be installed
# has to stay, and it takes "a:b", in an edge, for port b of node a.
def _quoted(name: str) -> str:
    """Return a name as Graphviz reads it."""
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _label(lines: Sequence[str]) -> str:
    """Return lines of text as a label: what Graphviz would expand in one is escaped."""
    # Entities such as "&lt;" are expanded in labels, although these are not HTML.
    return '"' + "".join(_quoted(line.replace("&", "&amp;"))[1:-1] + "\\l" for line in lines) + '"'
