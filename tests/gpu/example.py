"""Run an example on a GPU, in the place of the OpenCL device that it asks for.

    python -m tests.gpu.example TARGET NAME...

The target is cuda, cuda-through-cupy or opencl.
What it runs in C still does; it checks its own results.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import polygen as pg

EXAMPLES = Path(__file__).parents[2] / "examples"
# The others are for processors alone.
_ON_DEVICES = [path for path in EXAMPLES.glob("*.py") if '"opencl"' in path.read_text()]
NAMES = tuple(sorted(path.stem for path in _ON_DEVICES))


def run(name: str, target: str) -> int:
    """Run an example with `target` for ``"opencl"``; return how many executors were asked for."""
    original, asked = pg.Kernel.executor, []

    def executor(kernel: pg.Kernel, device: Any = None) -> Any:
        if device == "opencl":
            asked.append(kernel.name)
            device = target
        return original(kernel, device)

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pg.Kernel.executor = executor  # type: ignore[method-assign, assignment]
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name=name)["main"](
                    *([folder] if name in ("demo", "unsharp_mask") else [])
                )
        finally:
            pg.Kernel.executor = original  # type: ignore[method-assign]
    return len(asked)


def main() -> None:
    target, *names = sys.argv[1:]
    if target == "cuda-through-cupy":
        missing: Any = None
        sys.modules["polygen.runtime.backends.cuda.cuda_python"] = missing
        target = "cuda"
    for name in names:
        count = run(name, target)
        if not count:
            raise SystemExit(f"{name} asks for no OpenCL device")
        sys.stdout.write(f"{name}: {count} kernels on {target}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
