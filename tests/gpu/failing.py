"""What goes wrong on a GPU, each in a process of its own, and what is said then.

    python -m tests.gpu.failing TARGET NAME [cupy]

The target is cuda or opencl; with cupy, CUDA is reached through CuPy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import CompilationFailed, KernelFault, LaunchFailed, OutOfMemory

_FARAWAY = np.full(1000, 2**40)


def _split(knl: pg.Kernel, *inames: str) -> pg.Kernel:
    for iname in inames:
        knl = pg.split_iname(knl, iname, 128, outer_tag="g.0", inner_tag="l.0")
    return knl


def doubling() -> pg.Kernel:
    return _split(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name="doubling"), "i")


def counting() -> pg.Kernel:
    text = "out[i] = i + a[0]"
    arguments = [pg.GlobalArg("a", np.float64, shape=1), "..."]
    return _split(pg.make_kernel("{ [i]: 0<=i<n }", text, arguments, name="counting"), "i")


def gathering() -> pg.Kernel:
    arguments = [pg.GlobalArg("a", np.float64, "n"), "..."]
    text = "out[i] = 2*a[where[i]]"
    return _split(pg.make_kernel("{ [i]: 0<=i<n }", text, arguments, name="gathering"), "i")


def check_usable(target: str) -> None:
    a = np.arange(300.0)
    np.testing.assert_array_equal(doubling().executor(target)(a=a)[1][0], 2 * a)


def new_array(target: str) -> None:
    with pytest.raises(OutOfMemory) as error:
        counting().executor(target)(a=np.ones(1), n=10**11)
    # A driver of OpenCL may look for memory as late as at the launch.
    assert "'out', of the shape (100000000000,)" in str(error.value) or "'counting'" in str(
        error.value
    )


def new_array_of_cupy(target: str) -> None:
    cupy: Any = import_module("cupy")

    with pytest.raises(OutOfMemory, match=r"'out', of the shape \(100000000000,\)"):
        counting()(a=cupy.ones(1), n=10**11)


def new_array_of_torch(target: str) -> None:
    torch: Any = import_module("torch")

    with pytest.raises(OutOfMemory, match=r"'out', of the shape \(100000000000,\)"):
        counting()(a=torch.ones(1, dtype=torch.float64, device="cuda"), n=10**11)


def temporary(target: str) -> None:
    text = "u[i] = 1.5*i {id=first}\nb[0] = b[0] + u[n - 1 - j] {dep=first, atomic}"
    place = pg.AddressSpace.GLOBAL
    arguments = [pg.TemporaryVariable("u", np.float64, "n", place), "..."]
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", text, arguments, name="summing")
    with pytest.raises(OutOfMemory, match=r"'u'|'summing"):
        _split(knl, "i", "j").executor(target)(n=10**11, b=np.zeros(1))


def local_memory(target: str) -> None:
    text = "tile[i] = a[g, i] {id=load}\nout[g, j] = tile[99999 - j] {dep=load}"
    local = pg.TemporaryVariable("tile", np.float32, 100_000, pg.AddressSpace.LOCAL)
    domain = "{ [g,i,j]: 0<=g<n and 0<=i,j<100000 }"
    knl = pg.make_kernel(domain, text, [local, "..."], name="tiled")
    for iname in "ij":
        knl = pg.split_iname(knl, iname, 128, inner_tag="l.0")
    a = np.zeros((1, 100_000), np.float32)
    with pytest.raises(LaunchFailed, match=r"'tiled' has 400000 bytes .* at most \d+"):
        pg.tag_inames(knl, "g:g.0").executor(target)(a=a)


def groups(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", name="wide")
    wide = pg.split_iname(knl, "i", 4096, outer_tag="g.0", inner_tag="l.0")
    with pytest.raises(LaunchFailed, match=r"'wide' has groups of \(4096,\) .* at most 1024"):
        wide.executor(target)(a=np.zeros(3))
    tall, a = pg.tag_inames(knl, "i:g.1"), np.arange(70_000.0)
    try:
        np.testing.assert_array_equal(tall.executor(target)(a=a)[1][0], 2 * a)
    except LaunchFailed as error:
        assert "(1, 70000) groups; the device has at most" in str(error)


def source(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = i", name="broken")
    broken = pg.register_preamble_generators(knl, [lambda _: [("one", "this is no C;")]])
    with pytest.raises(CompilationFailed, match="for kernel 'broken'"):
        broken.executor(target)(n=3)
    options = pg.set_options(knl, build_options=("--no-such-option",))
    with pytest.raises(CompilationFailed, match="no-such-option"):
        options.executor(target)(n=3)


def fault(target: str) -> None:
    """A kernel reads far away from its array; the copy of its result waits."""
    with pytest.raises(KernelFault, match="kernel 'gathering', or in what was started before it"):
        gathering().executor(target)(a=np.zeros(1000), where=_FARAWAY)
    with pytest.raises(KernelFault, match="kernel 'doubling', or in what was started before it"):
        check_usable(target)


def fault_of_an_event(target: str) -> None:
    cupy: Any = import_module("cupy")

    a = cupy.zeros(1000)
    event, _ = gathering()(a=a, where=cupy.asarray(_FARAWAY))
    with pytest.raises(KernelFault, match=r"kernel 'gathering'.*illegal"):
        event.wait()
    with pytest.raises(KernelFault, match="kernel 'doubling'"):
        doubling()(a=a)


CASES: dict[str, Callable[[str], None]] = {
    case.__name__: case
    for case in (
        *(new_array, new_array_of_cupy, new_array_of_torch, temporary, local_memory, groups),
        *(source, fault, fault_of_an_event),
    )
}


def main() -> None:
    target, name, *through = sys.argv[1:]
    if through:
        missing: Any = None
        sys.modules["polygen.runtime.backends.cuda.cuda_python"] = missing
    CASES[name](target)
    if not name.startswith("fault"):
        check_usable(target)
    sys.stdout.write("as expected\n")


if __name__ == "__main__":
    main()
