"""Make the pictures of the documentation, beside this file.

    .venv/bin/python docs/images/make.py

Needs Graphviz.
"""

import contextlib
import doctest
import io
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import polygen as pg

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
ROWS, COLUMNS = slice(0, 300), slice(120, 460)
COLOURS = 128  # keeps the file small


def make_photograph() -> None:
    """The middle of a photograph, before and after examples/unsharp_mask.py."""
    example = runpy.run_path(str(EXAMPLES / "unsharp_mask.py"))
    before = example["photograph"]()
    after = example["sharpen"](before, "c")
    gap = np.ones((ROWS.stop - ROWS.start, 8, 3), np.float32)
    both = np.concatenate([before[ROWS, COLUMNS], gap, after[ROWS, COLUMNS]], axis=1)
    picture = Image.fromarray(np.rint(255 * both).astype(np.uint8))
    picture.quantize(COLOURS).save(HERE / "unsharp_mask.png", optimize=True)


def make_graph() -> None:
    """The dependency graph of examples/transpose_then_double.py."""
    example = runpy.run_path(str(EXAMPLES / "transpose_then_double.py"))
    knl = example["make_transpose_then_double"]()
    pg.show_dependency_graph(knl, HERE / "transpose_then_double.svg")


def make_dependences() -> None:
    """The dependences of a sum for each row."""
    knl = pg.make_kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<m }"],
        """
        <> acc = 0  {id=init, inames=i}
        acc = acc + a[i,j]  {id=update, inames=i:j, dep=init}
        out[i] = acc  {id=store, inames=i, dep=update}
        """,
    )
    pg.show_dependency_graph(knl, HERE / "dependences.svg", with_dependences=True)


def make_roofline(folder: Path = HERE) -> None:
    """What docs/numbers.md prints of a product in tiles."""
    page = re.sub(r"^```.*$", "", (HERE.parent / "numbers.md").read_text(), flags=re.MULTILINE)
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(page.partition("![")[0]):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(example.source, names)  # noqa: S102
    found = pg.roofline(names["tiled"], names["h200"], {"n": 4096}, measured=10e-3)
    found.plot(folder / "roofline.svg")


def main() -> None:
    """Make them all."""
    make_photograph()
    make_graph()
    make_dependences()
    make_roofline()


if __name__ == "__main__":
    main()
