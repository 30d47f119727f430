"""The Mandelbrot set: the number of iterations until a point of the plane escapes.

    python examples/mandelbrot.py

A point that has gone away stays where it is, so that no loop has to end early.  That `new_a` is
written wherever it is read, under the same condition, is seen by the proofs.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import polygen as pg

LIMIT = 50


def make_mandelbrot() -> pg.Kernel:
    knl = pg.make_kernel(
        ["{ [y, x]: 0<=y<height and 0<=x<width }", "{ [t]: 0<=t<limit }"],
        """
        for y, x
            <> re = left + x*step
            <> im = top - y*step
            <> a = re  {id=a}
            <> b = im  {id=b}
            <> count = 0  {id=count}
            for t
                <> inside = a*a + b*b <= 4  {id=inside, dep=a:b}
                if inside
                    <> new_a = a*a - b*b + re  {id=new_a, dep=inside}
                    b = 2*a*b + im  {id=new_b, dep=new_a}
                    a = new_a  {id=move_a, dep=new_b}
                    count = count + 1  {id=next_count, dep=count}
                end
            end
            out[y, x] = count  {dep=next_count}
        end
        """,
        [pg.GlobalArg("out", np.int32), "..."],
        name="mandelbrot",
    )
    return pg.fix_parameters(knl, limit=LIMIT)


def on_the_grid() -> pg.Kernel:
    knl = pg.split_iname(make_mandelbrot(), "x", 16, outer_tag="g.0", inner_tag="l.0")
    return pg.split_iname(knl, "y", 16, outer_tag="g.1", inner_tag="l.1")


def counted(points: NDArray[np.complex128]) -> NDArray[np.int32]:
    z, count = points.copy(), np.zeros(points.shape, np.int32)
    for _ in range(LIMIT):
        inside = z.real**2 + z.imag**2 <= 4
        count += inside
        z = np.where(inside, z * z + points, z)
    return count


def picture(count: NDArray[Any]) -> str:
    return "\n".join("".join(" .:-=+*#%@"[min(c // 2, 9)] for c in row) for row in count[::2])


def main() -> None:
    knl = on_the_grid()
    print(pg.generate_code(pg.add_dtypes(knl, {"left, top, step": np.float32}), "opencl"))
    height, width, left, top, step = 41, 70, -2.1, 1.1, 0.0425
    points = left + step * np.arange(width) + 1j * (top - step * np.arange(height)[:, None])
    expected = counted(points)
    for target in ("opencl", "c"):
        _, (out,) = knl.executor(target)(left=left, top=top, step=step, height=height, width=width)
        # A point at the very edge may be counted once more or less: NumPy multiplies otherwise.
        assert (out != expected).mean() < 0.01
        print(f"{target}: as NumPy")
    print(picture(expected))


if __name__ == "__main__":
    main()
