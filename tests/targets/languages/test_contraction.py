"""The option `contract`: whether a product and the sum it goes into are rounded once or twice."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import MalformedText
from tests.nvidia.nvrtc import assembly_of

SIZE = 64
TYPES = ("float32", "float64", "complex64", "complex128")
LINES = "\n".join(f"out{n}[i] = x{n}[i]*y{n}[i] - z{n}[i]" for n in range(len(TYPES)))


def _rest(contract: str, **how: Any) -> pg.Kernel:
    """Return a kernel that computes what is left of rounded products less themselves."""
    data = [pg.GlobalArg(f"x{n}, y{n}, z{n}, out{n}", t, SIZE) for n, t in enumerate(TYPES)]
    knl = pg.make_kernel(f"{{ [i]: 0<=i<{SIZE} }}", LINES, data, name="rest")
    return pg.set_options(pg.tag_inames(knl, how), contract=contract)


def _product(x: Any, y: Any) -> NDArray[Any]:
    """Return products of which each part is rounded: NumPy's of complex numbers may be fused."""
    found: Any = np.empty_like(x)
    found.real = x.real * y.real - x.imag * y.imag
    if x.dtype.kind == "c":
        found.imag = x.real * y.imag + x.imag * y.real
    return np.asarray(found)


def _numbers() -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(5)
    found: dict[str, NDArray[Any]] = {}
    for n, name in enumerate(TYPES):
        parts = rng.standard_normal((4, SIZE))
        x, y = parts[:2] + (1j * parts[2:] if "complex" in name else 0)
        found |= {f"x{n}": x.astype(name), f"y{n}": y.astype(name)}
        found[f"z{n}"] = _product(found[f"x{n}"], found[f"y{n}"])
    return found


@pytest.mark.parametrize("target", ["c", "opencl"])
@pytest.mark.usefixtures("optimized")
def test_products_and_sums_are_rounded(target: str) -> None:
    numbers = _numbers()
    _, found = _rest("off", i="l.0").executor(target)(**numbers)
    assert [np.count_nonzero(out) for out in found] == [0] * len(TYPES)
    _, found = _rest("fast", i="l.0").executor(target)(**numbers)
    assert all(np.any(out) for out in found[:2])  # or this says nothing of the other


def test_cuda_compiles_without_fused_operations() -> None:
    for contract, options in (("off", ("--fmad=false",)), ("fast", ())):
        program = pg.generate_code(_rest(contract, i="l.0"), "cuda")
        assert program.compiler_options == options
        ptx = assembly_of("compute_90", program.source, *program.compiler_options)
        assert ("fma." in ptx) == (contract == "fast")
        assert "mul.f" in ptx or "mul.rn.f" in ptx
        assert ("--fmad=false" in program.source) == (contract == "off")


def test_makefiles_say_so(tmp_path: Path) -> None:
    for target, option in (("c", "-ffp-contract=off"), ("cuda", "--fmad=false")):
        knl = _rest("off") if target == "c" else _rest("off", i="l.0")
        folder = tmp_path / target
        pg.emit(pg.set_options(knl, build_options=["-DX"]), target).write(folder)
        make = ["make", "-n", "-B", "CC=echo", "NVCC=echo", "-C", str(folder), "all"]
        shown = subprocess.run(make, capture_output=True, text=True, check=True).stdout
        (line,) = [line for line in shown.splitlines() if "-DX" in line]
        words = line.split()
        assert words.index(option) < words.index("-DX")
        assert "-ffp-contract=fast" not in words[words.index(option) :]


def test_what_is_called_is_exact_too() -> None:
    called = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k] + 1", name="line")
    text = "[j]: out[i, j] = line([j]: a[i, j])"
    for contract in ("off", "fast"):
        functions = {"line": pg.set_options(called, contract=contract)}
        knl = pg.make_kernel("{ [i]: 0<=i<n }", text, functions=functions)
        knl = pg.add_dtypes(knl, {"a": "float32"})
        assert pg.inline_callable_kernel(knl, "line").options.contract == contract
        begins = pg.generate_code(knl, "opencl").source.startswith("#pragma OPENCL FP_CONTRACT OFF")
        assert begins == (contract == "off")


def test_other_values() -> None:
    knl = _rest("off")
    assert "contract: 'off'" in str(knl)
    assert pg.set_options(knl, contract="fast") == _rest("fast")
    with pytest.raises(pg.UserError, match="'contract' is 'fast', 'sums' or 'off', not 'on'"):
        pg.set_options(knl, contract="on")
    with pytest.raises(MalformedText, match="'contract' does not have this value"):
        pg.parse_kernel(str(knl).replace("contract: 'off'", "contract: 'on'"))
