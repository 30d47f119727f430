"""How long polygen takes to be there, in fresh processes, beside the libraries that it rests on.

    .venv/bin/python benchmarks/import_time.py

Each row is a multiple of the base above it, measured in turn with it.  Imports are timed within
their process, the command from its start to its end.  Bytecode is written to a temporary folder
first: after an installation it is there.  With `.[benchmarks]`, Loo.py is measured, too.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

REPEATS = 15
DEVICE_LIBRARIES = ("pyopencl", "cupy", "cuda", "torch")
KERNEL = ("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")

_BASE = "import numpy, islpy, pymbolic"
_MAKE = f"import polygen as pg; knl = pg.make_kernel(*{KERNEL})"
_TIMED = f"""
import sys, time
wall, cpu = time.perf_counter(), time.process_time()
{{code}}
print(time.perf_counter() - wall, time.process_time() - cpu)
print(*[name for name in {DEVICE_LIBRARIES} if name in sys.modules])
"""


@dataclass
class Row:
    """Something that is measured.

    Attributes:
        title: what is shown.
        what: code, or the command's arguments.
        most: the ratio to the base that it may have; None if nothing is promised.
        command: whether it is the command.
        wall, cpu: seconds, one a run.
        loaded: the device libraries that it loads.
    """

    title: str
    what: str
    most: float | None = None
    command: bool = False
    wall: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    loaded: str = ""

    def run(self, environment: dict[str, str]) -> None:
        """Measure once."""
        if self.command:
            before, start = os.times(), time.perf_counter()
            command = [sys.executable, *self.what.split()]
            subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=True)
            self.wall.append(time.perf_counter() - start)
            after = os.times()
            self.cpu.append(sum(after[2:4]) - sum(before[2:4]))
            return
        command = [sys.executable, "-c", _TIMED.format(code=self.what)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        times, self.loaded = done.stdout.splitlines()
        for found, seconds in zip((self.wall, self.cpu), times.split(), strict=True):
            found.append(float(seconds))


def _show(title: str, rows: list[Row]) -> None:
    print(
        f"{title:38} {'min':>5} {'median':>7} {'ratio':>6} {'CPU':>5} {'ratio':>6} {'at most':>8}"
    )
    base = rows[0]
    for row in rows:
        wall, cpu = (statistics.median(found) for found in (row.wall, row.cpu))
        ratios = [
            statistics.median(own / other for own, other in zip(found, others, strict=True))
            for found, others in ((row.wall, base.wall), (row.cpu, base.cpu))
        ]
        print(
            f"{row.title:38} {1e3 * min(row.wall):5.0f} {1e3 * wall:7.0f} {ratios[0]:6.2f} "
            f"{1e3 * cpu:5.0f} {ratios[1]:6.2f} {row.most or '':>8}  {row.loaded}"
        )


def main() -> None:
    """Measure and print."""
    code = f"{_MAKE}; pg.generate_code(pg.add_dtypes(knl, {{'a': 'float32'}}))"
    imports = [
        Row(_BASE, _BASE),
        Row("import polygen", "import polygen", 1.5),
        Row("... and a first make_kernel", _MAKE, 2.5),
        Row("... and a first step", f"{_MAKE}; pg.split_iname(knl, 'i', 16)"),
        Row("... and first code", code),
        *(Row(f"import {n}", f"import {n}") for n in ("lark", "loopy") if find_spec(n)),
    ]
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "k.pg")
        text.write_text("\n".join(KERNEL))
        script = Path(folder, "base.py")
        script.write_text(_BASE)
        show = f"-m polygen.cli show {text}"
        commands = [
            Row(f"python -c '{_BASE}'", f"{script}", command=True),
            Row("polygen show k.pg", show, 3.0, command=True),
        ]
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode"))}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(REPEATS + 1):
            for row in (*imports, *commands):
                row.run(environment)
    for row in (*imports, *commands):
        del row.wall[0], row.cpu[0]
    _show("milliseconds", imports)
    _show("from start to end", commands)


if __name__ == "__main__":
    main()
