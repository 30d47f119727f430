"""Sharpen a photograph: a separable Gaussian blur and an unsharp mask.

    python examples/unsharp_mask.py [folder]

Pixels beyond an edge count as those on it.  The same kernel runs as C with OpenMP and as OpenCL
C, and both results are compared with SciPy's.  The picture before and after goes to the folder
(default: the current one), side by side.
"""

import sys
from pathlib import Path
from typing import Any

import imageio.v3 as iio
import numpy as np
import scipy.ndimage
import skimage.data

import polygen as pg

SIGMA = 2.0
AMOUNT = 1.5
RADIUS = 8  # four standard deviations, as SciPy has it


def make_unsharp_mask() -> pg.Kernel:
    """Blur along the rows; then blur along the columns, and add what the blur took away."""
    knl = pg.make_kernel(
        [
            "{ [y, x, c]: 0<=y<height and 0<=x<width and 0<=c<channels }",
            "{ [k]: -radius<=k<=radius }",
            "{ [v, u, d]: 0<=v<height and 0<=u<width and 0<=d<channels }",
            "{ [m]: -radius<=m<=radius }",
        ],
        """
        across[y, x, c] = sum(
            k, weight[radius + k] * image[y, min(max(x + k, 0), width - 1), c])
        <> blurred = sum(
            m, weight[radius + m] * across[min(max(v + m, 0), height - 1), u, d])
        <> sharp = image[v, u, d] + amount * (image[v, u, d] - blurred)
        out[v, u, d] = min(max(sharp, 0), 1)
        """,
        name="unsharp_mask",
        assumptions="height >= 1 and width >= 1",
    )
    knl = pg.fix_parameters(knl, radius=RADIUS, channels=3)
    # Rows go to groups, pieces of a row to the work items of a group.
    for row, column in (("y", "x"), ("v", "u")):
        knl = pg.split_iname(knl, column, 64, outer_tag="g.0", inner_tag="l.0")
        knl = pg.tag_inames(knl, {row: "g.1"})
    return knl


def gaussian(sigma: float, radius: int) -> Any:
    weight = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return (weight / weight.sum()).astype(np.float32)


def reference(image: Any) -> Any:
    blurred = scipy.ndimage.gaussian_filter(
        image, sigma=(SIGMA, SIGMA, 0), radius=(RADIUS, RADIUS, 0), mode="nearest"
    )
    return np.clip(image + AMOUNT * (image - blurred), 0, 1)


def photograph() -> Any:
    """Return a photograph that ships with scikit-image, with values from 0 to 1."""
    return skimage.data.coffee().astype(np.float32) / np.float32(255)


def sharpen(image: Any, target: str) -> Any:
    run = make_unsharp_mask().executor(target)
    _, (_across, sharp) = run(image=image, weight=gaussian(SIGMA, RADIUS), amount=AMOUNT)
    return sharp


def write_picture(path: Path, *images: Any) -> None:
    side_by_side = np.concatenate(images, axis=1)
    iio.imwrite(path, np.rint(255 * side_by_side).astype(np.uint8))


def main(folder: str | Path = ".") -> None:
    image = photograph()
    expected = reference(image)
    for target in ("c", "opencl"):
        sharp = sharpen(image, target)
        worst = float(np.abs(sharp - expected).max())
        print(f"{target}: largest difference from SciPy: {worst:.1e}")
        assert worst < 1e-5
    path = Path(folder, "unsharp_mask.png")
    write_picture(path, image, sharp)
    print(f"the photograph before and after: {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
