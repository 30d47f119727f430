"""CPU time of making, transforming and generating n statements, loop nests, unrolled copies.

    POLYGEN_NO_CACHE=1 .venv/bin/python benchmarks/linearity.py

Without proofs of the steps, then with them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import polygen as pg

SIZES = (125, 250, 500, 1000)


def straight_line(n: int) -> None:
    lines = "\n".join(f"<> t{k} = a[i] + {k}  {{id=s{k}}}" for k in range(n - 1))
    total = " + ".join(f"t{k}" for k in range(n - 1))
    knl = pg.make_kernel("{ [i]: 0<=i<size }", f"{lines}\nout[i] = {total}")
    knl = pg.split_iname(knl, "i", 128, outer_tag="g.0", inner_tag="l.0")
    pg.generate_code(pg.add_dtypes(knl, {"a": "float32"}))


def loop_nests(n: int) -> None:
    domains = [f"{{ [i{k}]: 0<=i{k}<size }}" for k in range(n)]
    lines = "\n".join(f"out{k}[i{k}] = a[i{k}] + {k}  {{id=s{k}}}" for k in range(n))
    knl = pg.make_kernel(domains, lines)
    pg.generate_code(pg.add_dtypes(knl, {"a": "float32"}))


def unrolled(n: int) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<size }", "out[i] = 2*a[i]")
    knl = pg.split_iname(knl, "i", n, inner_tag="unr")
    pg.generate_code(pg.add_dtypes(knl, {"a": "float32"}))


def _measure(case: Callable[[int], None]) -> str:
    case(10)
    times: list[float] = []
    for size in SIZES:
        start = time.process_time()
        case(size)
        times.append(time.process_time() - start)
    shown = "  ".join(f"{n}: {t:.3f} s" for n, t in zip(SIZES, times, strict=True))
    return f"{case.__name__:14} {shown}  ({1e3 * times[-1] / SIZES[-1]:.2f} ms each)"


def main() -> None:
    """Measure and print."""
    warnings.simplefilter("ignore")
    cases: tuple[Callable[[int], None], ...] = (straight_line, loop_nests, unrolled)
    with pg.without_proofs():
        print("without proofs", *map(_measure, cases), sep="\n")
    print("with proofs", *map(_measure, cases), sep="\n")


if __name__ == "__main__":
    main()
