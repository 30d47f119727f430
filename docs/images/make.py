"""Make the pictures of the documentation, beside this file.

    .venv/bin/python docs/images/make.py

Needs Graphviz.
"""

import runpy
from pathlib import Path

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


def main() -> None:
    """Make them all."""
    make_photograph()
    make_graph()
    make_dependences()


if __name__ == "__main__":
    main()
