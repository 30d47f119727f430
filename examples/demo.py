"""A walk through polygen: what `make demo` runs.

    python examples/demo.py [folder]

Pictures and pages go to the folder (default: demo-output, beside the folder of examples).
"""

import os
import runpy
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import graphviz
import numpy as np

import polygen as pg

HERE = Path(__file__).parent
SIZE = 1500
CALLS = 15


def title(text: str) -> None:
    print(f"\n{'=' * 78}\n{text}\n{'=' * 78}\n")


def make_diffusion() -> pg.Kernel:
    """Let heat flow for one step of time on a plate that is two cells larger than the result."""
    return pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        """
        <> middle = u[i + 1, j + 1]
        <> around = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2]
        out[i, j] = middle + rate*(around - 4*middle)
        """,
        name="diffusion",
    )


def for_a_gpu(knl: pg.Kernel) -> pg.Kernel:
    """Groups of 8 x 32 work items, one for each result."""
    knl = pg.split_iname(knl, "i", 8, outer_tag="g.1", inner_tag="l.1")
    return pg.split_iname(knl, "j", 32, outer_tag="g.0", inner_tag="l.0")


def for_a_cpu(knl: pg.Kernel) -> pg.Kernel:
    """Rows in parallel."""
    return pg.prioritize_loops(pg.tag_inames(knl, {"i": "g.0"}), "i, j")


def in_numpy(u: Any, rate: float) -> Any:
    middle = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return middle + np.float32(rate) * (around - 4 * middle)


def median_ms(call: Callable[[], object]) -> float:
    call()  # compiles, and touches the memory
    times = []
    for _ in range(CALLS):
        start = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def show_kernels() -> tuple[pg.Kernel, pg.Kernel]:
    knl = make_diffusion()
    title("1. A kernel: loop domains and instructions, as they were written")
    print(knl)
    title("2. The same kernel for a GPU: split_iname, with tags for groups and work items")
    gpu, cpu = for_a_gpu(knl), for_a_cpu(knl)
    print(gpu)
    print("\nits history:", *(f"  {step}" for step in gpu.history), sep="\n")
    title("3. OpenCL C, generated for it")
    types = {"u": "float32", "rate": "float32"}
    print(pg.generate_code(pg.add_dtypes(gpu, types)), end="")
    title("4. C with OpenMP, for a CPU: rows in parallel")
    print(pg.generate_code(pg.add_dtypes(cpu, types), target="c"), end="")
    return gpu, cpu


def make_sweep() -> pg.Kernel:
    """Replace each number by the mean of its neighbours, in place, again and again."""
    return pg.make_kernel(
        ["{ [t]: 0<=t<steps }", "{ [i]: 1<=i<n-1 }"],
        "a[i] = (a[i-1] + a[i+1]) / 2  {id=relax, inames=t:i}",
        name="sweep",
        loop_priority="t, i",
    )


def show_refusal() -> None:
    title("5. A step that would change the result is refused, with an example in which it does")
    knl = make_sweep()
    print("In a loop over t, a[i] = (a[i-1] + a[i+1])/2 for all i; and now i in parallel:")
    try:
        pg.tag_inames(knl, {"i": "g.0"})
    except pg.errors.IllegalStep as error:
        print(f"\n{type(error).__name__}: {error}")
    else:
        raise AssertionError("iterations of i depend on each other")
    waves = pg.wavefront(knl, "t", "i")
    print("\nwavefront makes a parallel loop of it, which is proved:")
    print(*(f"  {step}" for step in waves.history), sep="\n")


def run_and_compare(gpu: pg.Kernel, cpu: pg.Kernel) -> None:
    title(f"6. Both run here, on {SIZE} x {SIZE} numbers, and are compared with NumPy")
    u = np.random.default_rng(seed=1).random((SIZE + 2, SIZE + 2), dtype=np.float32)
    expected = in_numpy(u, 0.1)
    rows = [("NumPy", median_ms(lambda: in_numpy(u, 0.1)), 0.0)]
    for knl, target, what in ((cpu, "c", "C with OpenMP"), (gpu, "opencl", "OpenCL")):
        run = knl.executor(target)
        _, (out,) = run(u=u, rate=np.float32(0.1))
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
        elapsed = median_ms(partial(run, u=u, rate=np.float32(0.1), out=out))
        rows.append((what, elapsed, float(np.abs(out - expected).max())))
    print(f"{'':14} {'time':>9}   largest difference")
    for what, elapsed, worst in rows:
        print(f"{what:14} {elapsed:6.2f} ms   {worst:.1e}")
    print(
        f"\nThe time is the median of {CALLS} calls, with their overhead, on a machine with "
        f"{os.cpu_count()} processors.\nNumPy uses one of them, and makes an array for each "
        "operation. OpenCL's time includes\ncopies of the arrays to the device and back; where "
        "that is PoCL, on the same processors,\nit says nothing of the kernel's speed on a GPU."
    )


def draw_tiles(path: Path) -> Path:
    """Draw the iterations of a smoothing in time, as tiles of skewed loops."""
    knl = pg.make_kernel(
        "{ [t, i]: 0<=t<steps and 1<=i<n-1 }",
        "a[t+1, i] = (a[t, i-1] + a[t, i] + a[t, i+1]) / 3",
        [pg.GlobalArg("a", shape="steps+1, n"), "..."],
        name="smoothing",
        loop_priority="t, i",
    )
    knl = pg.tile(pg.skew(knl, "t", "i", 1), {"t": 4, "i": 5})
    knl = pg.wavefront(knl, "t_outer", "i_outer", tag="for")
    t, skewed = "4*t_outer + t_inner", "5*(i_outer - t_outer) + i_inner"
    ax = pg.plot_domain(
        knl, {"steps": 8, "n": 18}, (f"{skewed} - ({t})", t), tiles="i_outer, t_outer",
        colour="i_outer", dependences="flow",
    )  # fmt: skip
    ax.figure.savefig(path)
    return path


def draw_graph(knl: pg.Kernel, path: Path) -> Path:
    """Hand the graph's text to Graphviz; where its program is not there, polygen draws."""
    try:
        text = graphviz.Source(pg.get_dot_dependency_graph(knl))
        text.render(path.with_suffix(".dot"), outfile=path)
    except graphviz.ExecutableNotFound:
        pg.show_dependency_graph(knl, path)
    return path


def write_report(path: Path) -> Path:
    knl = pg.add_dtypes(for_a_gpu(make_diffusion()), {"u": "float32", "rate": "float32"})
    return pg.report(knl, path, sizes={"n": SIZE, "m": SIZE}, drawn_at={"n": 10, "m": 36})


def write_files(folder: Path) -> None:
    title("7. Pictures, graphs and a report")
    folder.mkdir(parents=True, exist_ok=True)
    print("Tiles in time and space, which are parallelograms: all of one colour may run at once.")
    print(draw_tiles(folder / "tiles.svg"))
    print("\nA photograph, sharpened by a kernel (examples/unsharp_mask.py):")
    runpy.run_path(str(HERE / "unsharp_mask.py"))["main"](folder)
    example = runpy.run_path(str(HERE / "transpose_then_double.py"))
    knl = example["make_transpose_then_double"]()
    print("\nThe dependencies of examples/transpose_then_double.py, and the loops around them:")
    print(draw_graph(knl, folder / "transpose_then_double.svg"))
    print("\nAll that there is to see of the kernel for a GPU, as one page:")
    print(write_report(folder / "diffusion.html"))


def main(folder: str | Path = HERE.parent / "demo-output") -> None:
    gpu, cpu = show_kernels()
    show_refusal()
    run_and_compare(gpu, cpu)
    write_files(Path(folder))
    print(f"\nAll files are in {Path(folder).resolve()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
