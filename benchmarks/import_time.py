"""How long `import polygen` takes in a fresh process, beside what it imports, and Loo.py.

    .venv/bin/pip install -e '.[benchmarks]'
    .venv/bin/python benchmarks/import_time.py

Bytecode is written to a temporary folder first: after an installation it is there.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile

REPEATS = 15
MODULES = ("polygen", "pymbolic.primitives", "numpy", "islpy", "lark", "loopy")
DEVICE_LIBRARIES = ("pyopencl", "cupy", "cuda", "torch")

_SCRIPT = f"""
import sys, time
wall, cpu = time.perf_counter(), time.process_time()
import {{module}}
print(time.perf_counter() - wall, time.process_time() - cpu)
print(*[m for m in {DEVICE_LIBRARIES} if m in sys.modules])
"""


def _import(module: str, bytecode: str) -> tuple[float, float, str]:
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-c", _SCRIPT.format(module=module)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    times, loaded = done.stdout.splitlines()
    wall, cpu = map(float, times.split())
    return wall, cpu, loaded


def main() -> None:
    """Measure and print."""
    print(f"{'milliseconds':20} {'minimum':>8} {'median':>8} {'CPU, median':>12}  device libraries")
    with tempfile.TemporaryDirectory() as bytecode:
        runs = [[_import(m, bytecode) for m in MODULES] for _ in range(REPEATS + 1)][1:]
    for module, found in zip(MODULES, zip(*runs, strict=True), strict=True):
        wall, cpu = ([1e3 * run[i] for run in found] for i in (0, 1))
        print(
            f"{module:20} {min(wall):8.0f} {statistics.median(wall):8.0f} "
            f"{statistics.median(cpu):12.0f}  {found[0][2]}"
        )


if __name__ == "__main__":
    main()
