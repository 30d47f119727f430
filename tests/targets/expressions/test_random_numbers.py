"""Philox and Threefry, against known answers, NumPy, and the paper in tests/oracle."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import TypeMismatch, UnknownFunction, WrongArity
from tests.oracle.random_numbers import philox, threefry

TARGETS = pytest.mark.parametrize("target", ["c", "opencl"])

PI = "243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0 082efa98 ec4e6c89"


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(
    ("generator", "shape", "given", "expected"),
    [
        (philox, (4, 2, 32), "0 " * 6, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (philox, (4, 2, 32), PI, "d16cfe09 94fdcceb 5001e420 24126ea1"),
        (philox, (2, 1, 32), "0 " * 3, "ff1dae59 6cd10df2"),
        (philox, (2, 1, 32), PI, "dd7ce038 f62a4c12"),
        (threefry, (2, 2, 32), "0 " * 4, "6b200159 99ba4efe"),
        (threefry, (2, 2, 32), PI, "c4923a9c 483df7a0"),
        (threefry, (4, 4, 32), "0 " * 8, "9c6ca96a e17eae66 fc10ecd4 5256a7d8"),
        (threefry, (4, 4, 32), PI, "59cd1dbb b8879579 86b5d00c ac8b6d84"),
        (threefry, (2, 2, 64), "0 " * 4, "c2b6e3a8c2c69865 6f81ed42f350084d"),
        (
            threefry,
            (4, 4, 64),
            "0 " * 8,
            "09218ebde6c85537 55941f5266d86105 4bd25e16282434dc ee29ec846bd2e40b",
        ),
        (
            philox,
            (4, 2, 64),
            "0 " * 6,
            "16554d9eca36314c db20fe9d672d0fdc d7e772cee186176b 7e68b68aec7ba23b",
        ),
        (philox, (2, 1, 64), "0 " * 3, "ca00a0459843d731 66c24222c9a845b5"),
    ],
)
def test_known_answers(generator: Any, shape: tuple[int, ...], given: str, expected: str) -> None:
    """What the paper written out computes is what the paper's authors publish (kat_vectors)."""
    count, keys, bits = shape
    numbers = words(given)
    found = generator(numbers[:count], numbers[count : count + keys], bits)
    assert found == words(expected)


def test_numpys_philox() -> None:
    key, counter = [0x123456789, 2**63 + 5], [2**64 - 2, 7, 0, 9]
    bits = np.random.Philox(key=np.array(key, np.uint64), counter=np.array(counter, np.uint64))
    after = [counter[0] + 1, *counter[1:]]  # NumPy counts before it computes
    assert philox(after, key, 64) == [int(word) for word in bits.random_raw(4)]


# --- what is generated

GENERATORS = [
    (family, count, bits)
    for family in ("philox", "threefry")
    for bits in (32, 64)
    for count in (2, 4)
]


@TARGETS
def test_numbers_and_fractions(target: str) -> None:
    """Every generator, in one kernel."""
    lines: list[str] = []
    expected: dict[str, Any] = {}
    n, rng = 13, np.random.default_rng(1)
    data: dict[str, Any] = {}
    for bits in (32, 64):
        data[f"u{bits}"] = rng.integers(0, 2**bits, n, f"uint{bits}", endpoint=False)
    for family, count, bits in GENERATORS:
        keys = count // 2 if family == "philox" else count
        compute = philox if family == "philox" else threefry
        name = f"{family}{count}x{bits}"
        given = [f"u{bits}[i]", "i", "7", f"u{bits}[n - 1 - i]", "n", "3", "i + 5", "1"]
        rows = [
            [int(data[f"u{bits}"][i]), i, 7, int(data[f"u{bits}"][n - 1 - i]), n, 3, i + 5, 1]
            for i in range(n)
        ]
        call = f"({', '.join(given[: count + keys])})"
        results = [f"r_{name}_{k}" for k in range(count)]
        lines.append(", ".join(f"{r}[i]" for r in results) + f" = {name}{call}")
        lines.append(f"f_{name}[i] = {name}_f{bits}{call}[{count - 1}]")
        values = np.array(
            [compute(row[:count], row[count : count + keys], bits) for row in rows], f"uint{bits}"
        )
        expected |= {r: values[:, k] for k, r in enumerate(results)}
        shift, scale = (8, 2.0**-24) if bits == 32 else (11, 2.0**-53)
        fraction = (values[:, -1] >> np.uint64(shift)).astype(f"float{bits}")
        expected[f"f_{name}"] = fraction * np.dtype(f"float{bits}").type(scale)
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "\n".join(lines),
        [*(pg.GlobalArg(f"u{b}", f"uint{b}", "n") for b in (32, 64)), "..."],
    )
    knl = pg.set_options(knl, return_dict=True)
    assert pg.parse_kernel(str(knl)) == knl
    _, found = knl.executor(target)(n=n, **data)
    for name, values in expected.items():
        assert found[name].dtype == values.dtype
        assert np.array_equal(found[name], values), name


@TARGETS
def test_a_sum_of_random_numbers(target: str) -> None:
    """The area of a quarter of a circle, from points that nobody stores."""
    knl = pg.make_kernel(
        "{ [i, j]: 0<=i<16 and 0<=j<200 }",
        """
        inside(x, y) := if(x*x + y*y < 1, 1, 0)
        hits[i] = sum(j, inside(philox2x32_f32(i, j, seed)[0], philox2x32_f32(i, j, seed)[1]))
        """,
        [pg.ValueArg("seed", np.uint32), "..."],
    )
    knl = pg.tag_inames(knl, {"i": "g.0"})
    _, (hits,) = knl.executor(target)(seed=2**32 - 1)
    points = np.array([[philox([i, j], [2**32 - 1], 32) for j in range(200)] for i in range(16)])
    x, y = (points >> 8).astype(np.float32).transpose(2, 0, 1) * np.float32(2.0**-24)
    assert np.array_equal(hits, (x * x + y * y < 1).sum(axis=1))
    assert 2.9 < 4 * hits.sum() / 3200 < 3.4


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("a[i] = philox4x32(i, 0, 0, 0, 1, 2)", WrongArity, "has several results"),
        ("a[i] = philox4x32(i, 0, 0, 0, 1, 2)[4]", WrongArity, "which has 4 results"),
        ("a[i] = sin(i)[0]", WrongArity, "which has one result"),
        ("a[i] = 1 + threefry2x32_f32(i, 0, 0, 0)", WrongArity, "has several results"),
        ("a[i], b[i], c[i] = philox2x32(i, 0, 1)", WrongArity, "which has 2 results"),
        ("a[i] = philox4x32(i, 0, 0, 0)[0]", WrongArity, "takes 6 arguments"),
        ("a[i] = philox4x32_f64(i, 0, 0, 0, 1, 2)[0]", UnknownFunction, "philox4x32_f64"),
        ("a[i] = philox4x16(i, 0, 0, 0, 1, 2)[0]", UnknownFunction, "philox4x16"),
    ],
)
def test_refusals(text: str, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=re.escape(reason)):
        pg.generate_code(pg.make_kernel("{ [i]: 0<=i<n }", text))


def test_counters_are_integers() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = philox2x32(x[i], 0, 1)[0]")
    with pytest.raises(TypeMismatch, match="only there for integers"):
        pg.generate_code(pg.add_dtypes(knl, {"x": np.float32}), "c")
