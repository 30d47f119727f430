"""Transpose a matrix, then double it in place: how dependencies order loops.

    python examples/transpose_then_double.py

The second instruction has loops of its own and depends on the first, so all of the transposition
comes before all of the doubling.  With both loop nests on the grid of a GPU this takes two
launches, as nothing else makes all work items wait for each other.
"""

import numpy as np

import polygen as pg


def make_transpose_then_double() -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i, j, ii, jj]: 0<=i,j,ii,jj<n }",
        """
        out[j, i] = a[i, j] {id=transpose}
        out[ii, jj] = 2*out[ii, jj] {dep=transpose}
        """,
        name="transpose_then_double",
    )
    return pg.prioritize_loops(pg.prioritize_loops(knl, "i, j"), "ii, jj")


def on_the_grid(knl: pg.Kernel) -> pg.Kernel:
    for row, column in (("i", "j"), ("ii", "jj")):
        knl = pg.split_iname(knl, row, 8, outer_tag="g.1", inner_tag="l.1")
        knl = pg.split_iname(knl, column, 8, outer_tag="g.0", inner_tag="l.0")
    return knl


def main() -> None:
    a = np.random.default_rng(seed=1).normal(size=(100, 100)).astype(np.float32)
    knl = make_transpose_then_double()
    print(pg.get_dot_dependency_graph(knl))
    for kernel, how in ((knl, "loops"), (on_the_grid(knl), "grid")):
        program = pg.generate_code(pg.add_dtypes(kernel, {"a": np.float32}), target="opencl")
        print(f"{how}: OpenCL, in {len(program.launches)} launch(es)\n{program}")
        for target in ("c", "opencl"):
            _, (out,) = kernel.executor(target)(a=a)
            np.testing.assert_array_equal(out, 2 * a.T)
            print(f"{how}, {target}: as NumPy\n")


if __name__ == "__main__":
    main()
