"""Random kernels that call kernels, on rows, columns and reversed rows; functions and inlined."""

from __future__ import annotations

from random import Random

import numpy as np

import polygen as pg
from tests.few import few
from tests.oracle.cases import QUIET, Step, agree, grid, split, steps

SUM = pg.make_function(
    "{ [k]: 0<=k<m }",
    "<> acc = sum(k, x[k]) {id=acc}\ny[0] = acc*s  {dep=acc}",
    ["m", "s", "x", pg.GlobalArg("y", None, 1)],
    name="total",
)
CALLED = {
    "axpy": pg.make_function(
        "{ [k]: 0<=k<m }", "y[k] = s*x[k] + w[k]", ["m", "s", "x", "w", "y"], name="axpy"
    ),
    "total": SUM,
    "sums": pg.make_function(
        "{ [k, l]: 0<=k<m and 0<=l<=k }",
        "y[k] = sum(l, x[l])",
        ["m", "x", "y"],
        name="sums",
        silenced_warnings=QUIET,
    ),
    "add_up": pg.make_function(
        "{ [k]: 1<=k<m }", "x[k] = x[k] + x[k-1]", ["m", "x"], name="add_up"
    ),
}


def part(random: Random, array: str) -> str:
    """Return part of a square array that a call in the loop over i is given."""
    shape = random.choice(("[j]: {}[i, j]", "[j]: {}[j, i]", "[j]: {}[i, n-1-j]"))
    return shape.format(array)


def call(random: Random, number: int) -> str:
    """Return an instruction that calls one of the kernels."""
    name, count = random.choice(list(CALLED)), random.choice(("n", "n", "n-1", "i"))
    scale = random.choice(("2", "i", "n", "i-1"))
    read, other = (part(random, random.choice(a)) for a in ("ab", "abc"))
    written = part(random, random.choice("cd"))
    text = {
        "axpy": f"{written} = axpy({count}, {scale}, {read}, {other})",
        "total": f"{written} = total({count}, {scale}, {read})",
        "sums": f"{written} = sums({count}, {read})",
        "add_up": f"{written} = add_up({count}, {written})",
    }[name]
    options = [f"id=c{number}", "inames=i", *([f"dep=c{number - 1}"] if number else [])]
    options += random.choice(([], ["if=i > 0"], ["if=i % 2 == 0"]))
    return f"{text}  {{{', '.join(options)}}}"


def random_kernel(random: Random) -> pg.Kernel | None:
    """Return a kernel; None if what it would do is refused."""
    lines = [call(random, number) for number in range(random.randint(1, 3))]
    used = [a for a in "abcd" if any(f"{a}[" in line for line in lines)]
    data = [pg.GlobalArg(a, np.float64, "n, n") for a in used]
    try:
        return pg.make_kernel(
            "{ [i]: 0<=i<n }",
            "\n".join(lines),
            [*data, "..."],
            functions=CALLED,
            silenced_warnings=QUIET,
        )
    except pg.IllFormedKernel:
        return None
    except pg.errors.DependencyCycle:
        return None


def inlined(knl: pg.Kernel) -> pg.Kernel:
    """Return a kernel with its calls inlined."""
    for name in sorted({c.function for c in knl.calls}):
        knl = pg.inline_callable_kernel(knl, name)
    return knl


@few(2, "seed", [0, 1, 2, 3])
def test_random_calls(seed: int) -> None:
    random, made, parallel = Random(seed), 0, 0
    for _ in range(8):
        knl = random_kernel(random)
        if knl is None:
            continue
        made += 1
        assert pg.parse_kernel(str(knl)) == knl
        variants: list[Step] = [inlined, split("i", 2), steps(split("i", 2), inlined)]
        if pg.is_legal(knl, pg.split_iname, "i", 2, outer_tag="g.0", inner_tag="l.0"):
            variants.append(grid("i", 2))
            parallel += 1
        agree(knl, [{"n": n} for n in (0, 1, 4)], *variants)
    assert made >= 5
    assert parallel
