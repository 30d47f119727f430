"""Graphs as pictures: Graphviz's program ``dot``, started without a shell."""

from __future__ import annotations

import shutil
import subprocess

from polygen.errors import DrawingFailed, NoGraphviz
from polygen.source import caller_location


def is_there() -> bool:
    """Tell whether there is a program ``dot``."""
    return shutil.which("dot") is not None


def draw(dot_text: str, picture_format: str) -> bytes:
    """Return the picture of a graph.

    Parameters:
        dot_text: the graph, in Graphviz's language.
        picture_format: ``"svg"`` or ``"png"``.

    Raises:
        NoGraphviz: if the program ``dot`` is not found.
        DrawingFailed: if it does not draw the graph.
    """
    program = shutil.which("dot")
    if program is None:
        raise NoGraphviz(
            "drawing a picture of a graph needs Graphviz's program 'dot', which is not there",
            where=caller_location(),
            remedy="install Graphviz (Debian, Ubuntu: sudo apt install graphviz), "
            "or ask for another format: SVG and text need nothing",
        )
    done = subprocess.run(
        (program, f"-T{picture_format}"),
        input=dot_text.encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0 or not done.stdout:
        raise DrawingFailed(
            f"'{program}' did not draw the graph (exit status {done.returncode})",
            where=caller_location(),
            excerpt=done.stderr.decode(errors="replace").strip() or None,
            remedy="try another format, or another version of Graphviz; "
            "the graph as text comes from get_dot_dependency_graph",
        )
    return done.stdout
