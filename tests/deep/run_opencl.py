"""Runs OpenCL programs from a file, on the simulator that watches this process.

    oclgrind --log FILE python -m tests.deep.run_opencl FOLDER

Nothing of polygen is imported: Oclgrind loads LLVM, which has an isl of its own, of another
version, and islpy would be bound to that.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyopencl as cl

SIMULATOR = "Oclgrind"
# Oclgrind 21.10 gives new memory the old size where it looks for what is uninitialized, if there
# was other memory at the same address: so nothing is freed.
_KEPT: list[Any] = []


def run(job: dict[str, Any], arrays: Any, queue: cl.CommandQueue) -> None:
    """Run a program; compare all arrays with what is wanted, bit by bit."""
    flags = cl.mem_flags
    memory: dict[str, Any] = {}
    for name, key in job["arrays"].items():
        memory[name] = cl.Buffer(queue.context, flags.READ_WRITE, max(1, arrays[key].nbytes))
        if arrays[key].size:
            cl.enqueue_copy(queue, memory[name], np.ascontiguousarray(arrays[key]))
    for name, size in job["temporaries"].items():
        memory[name] = cl.Buffer(queue.context, flags.READ_WRITE, max(1, size))
    built = cl.Program(queue.context, job["source"]).build()
    _KEPT.extend((memory, built))
    for function, size, group, passed in job["launches"]:
        values = [memory[p] if isinstance(p, str) else np.dtype(p[0]).type(p[1]) for p in passed]
        cl.Kernel(built, function)(queue, size, group, *values)
    queue.finish()
    for name, key in job["wanted"].items():
        found = np.zeros_like(arrays[key])
        if found.size:
            cl.enqueue_copy(queue, found, memory[name])
        np.testing.assert_array_equal(found, arrays[key], err_msg=f"{job['name']}: {name}")


def main(folder: Path) -> None:
    platform = cl.get_platforms()[0]
    if platform.name != SIMULATOR:
        raise SystemExit(f"this is platform {platform.name}, and not {SIMULATOR}")
    queue = cl.CommandQueue(cl.Context(platform.get_devices()))
    arrays = np.load(folder / "arrays.npz")
    for job in json.loads((folder / "jobs.json").read_text()):
        run(job, arrays, queue)
        sys.stdout.write(f"{job['name']}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
