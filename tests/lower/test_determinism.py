"""The same text in every process, whatever the hash seed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.few import few

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np, polygen as pg
from polygen.lower.lower import Model, lower
from tests.oracle.cases import grid, kernel, split, steps, tag

square = kernel("{ [i,j,k]: 0<=i,j,k<n }", "c[i,j] = sum(k, a[i,k]*b[k,j]) + max(k, a[i,k])")
tiled = steps(grid("i", 16, 1), grid("j", 16), split("k", 4, inner_tag="unr"))
many = kernel("{ [i,j]: 0<=i<n and 2<=j<n+4 }", "\\n".join(
    f"<> t{x} = a[i]*2 {{id=t{x}, if=a[i]>0}}\\no{x}[i] = t{x} {{if=a[i]>0}}\\np{x}[j-2] = b[j-2]"
    for x in range(6)))
band = kernel("{ [i,j]: 0<=i<n and 0<=j<m and i-2<=j<=i+3 and j<3*i }", "out[i,j] = a[i,j]")
for knl in (tiled(square), steps(grid("i", 4), grid("j", 4))(many), band, split("j", 5)(band)):
    knl = pg.add_dtypes(knl, {a.name: np.float32 for a in knl.arguments
                              if isinstance(a, pg.GlobalArg) and a.name in ("a", "b")})
    print(knl)
    for model in Model:
        print(lower(knl, model))
"""


def _text(seed: int) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@few(1, "seeds", [(0, 1), (2, 3, 4)])
def test_the_text_does_not_depend_on_the_hash_seed(seeds: tuple[int, ...]) -> None:
    first, *others = map(_text, seeds)
    assert len(first) > 5000
    assert all(other == first for other in others)
