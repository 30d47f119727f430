"""Sparse matrix-vector product, balanced although the rows differ much in length.

    python examples/balanced_rows.py

Each group takes as many elements as any other, whichever rows they are in: a long row is shared by
several groups, which add up their parts atomically.  In which row a group begins, the rows say
first.
"""

from typing import Any

import numpy as np
import scipy.sparse

import polygen as pg

ELEMENTS, LANES, ITEMS = 1024, 8, 256  # elements of a group; work items for a row, of a group


def make_balanced_product(
    elements: int = ELEMENTS, dtype: Any = np.float64, rows: int = ITEMS // LANES
) -> pg.Kernel:
    """Return the product; a group looks at so many rows at a time.

    That is the same number of rows for all work items, so that these exchange registers: rows that
    have nothing in the group's part are empty there.
    """
    knl = pg.make_kernel(
        [
            "{ [z, row]: 0<=z,row<n }",
            "{ [part]: begin<=part<end }",
            f"{{ [g]: 0<=g and {elements}*g<nonzeros }}",
            "{ [i]: first<=i<=last }",
            f"{{ [r]: 0<=r<{rows} }}",
            "{ [j]: low<=j<high }",
        ],
        f"""
        y[z] = 0                                                     {{id=clear}}

        <> begin = (start[row] + {elements - 1}) // {elements}
        <> end = (start[row + 1] + {elements - 1}) // {elements}
        row_of[part] = row                                           {{id=mark}}

        for g
            <> first = row_of[g] // {rows}                           {{dep=mark}}
            <> end_row = if({elements}*(g + 1) < nonzeros, row_of[g + 1], n - 1)  {{dep=mark}}
            <> last = end_row // {rows}
            for i, r
                <> low = max(start[min({rows}*i + r, n)], {elements}*g)
                <> high = min(start[min({rows}*i + r + 1, n)], {elements}*g + {elements})
                y[{rows}*i + r] += sum(j, values[j] * x[columns[j]])  {{
                    dep=clear, atomic, if={rows}*i + r < n}}
            end
        end
        """,
        [
            pg.GlobalArg("values", shape="nonzeros"),
            pg.GlobalArg("columns", shape="nonzeros"),
            pg.GlobalArg("x", shape="m"),
            pg.GlobalArg("y", dtype, shape="n"),
            pg.GlobalArg("start", shape="n + 1"),
            pg.TemporaryVariable(
                "row_of",
                np.int32,
                f"(nonzeros + {elements - 1})//{elements}",
                address_space=pg.AddressSpace.GLOBAL,
            ),
            "...",
        ],
        name="balanced_product",
        assumptions="n >= 1",
        loop_priority="i, r",
    )
    return pg.assume_independent(knl, "mark", "mark")  # rows do not overlap


def on_processors(knl: pg.Kernel) -> pg.Kernel:
    return pg.tag_inames(knl, {"g": "g.0"})


def in_groups(knl: pg.Kernel, lanes: int = LANES) -> pg.Kernel:
    """Let a row have some work items, and a group several rows at a time."""
    for iname in "z", "row":  # groups of the same shape
        knl = pg.split_iname(knl, iname, ITEMS, outer_tag="g.0")
        knl = pg.split_iname(knl, f"{iname}_inner", lanes, outer_tag="l.1", inner_tag="l.0")
    knl = pg.tag_inames(knl, {"g": "g.0", "r": "l.1"})
    return pg.split_iname(knl, "j", lanes, inner_tag="l.0")


def make_matrix(rows: int) -> Any:
    """Return a matrix with many empty rows, and one row that has most elements."""
    rng = np.random.default_rng(seed=1)
    matrix = scipy.sparse.random(rows, rows, density=min(1, 2 / rows), format="lil", rng=rng)
    matrix[rows // 2] = rng.uniform(size=rows)
    return scipy.sparse.csr_array(matrix)


def main() -> None:
    knl = make_balanced_product()
    for rows in (1, 700, 20_000):
        matrix = make_matrix(rows)
        x = np.random.default_rng(seed=2).uniform(size=rows)
        for kernel, target in ((on_processors(knl), "c"), (in_groups(knl), "opencl")):
            y = np.empty(rows)
            kernel.executor(target)(
                start=matrix.indptr, columns=matrix.indices, values=matrix.data, x=x, y=y
            )
            np.testing.assert_allclose(y, matrix @ x, rtol=1e-12)
            print(f"{rows} rows, {target}: as SciPy")


if __name__ == "__main__":
    main()
