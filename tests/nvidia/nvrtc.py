"""NVIDIA's compiler, which needs no GPU."""

from __future__ import annotations

from importlib import import_module
from typing import Any

nvrtc: Any = import_module("cuda.bindings.nvrtc")  # it says nothing of its types
_OK = nvrtc.nvrtcResult.NVRTC_SUCCESS


def compile_for(architecture: str, source: str, *options: str) -> tuple[int, str]:
    """Return the size of the machine code of a source, 0 if there are errors, and the log.

    For a ``compute_...``, it is that of the code for all such devices, which takes less time.
    """
    program, code = _compiled(architecture, source, *options)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * (size + 1)  # see polygen.runtime.cuda_python
    nvrtc.nvrtcGetProgramLog(program, log)
    size_of = nvrtc.nvrtcGetPTXSize if "compute" in architecture else nvrtc.nvrtcGetCUBINSize
    size = size_of(program)[1] if code == _OK else 0
    nvrtc.nvrtcDestroyProgram(program)
    return size, log.decode().strip("\0 \n")


def ptx_of(source: str) -> str:
    """Return the instructions of a source for all devices from compute capability 9.0 on."""
    program, code = _compiled("compute_90", source)
    assert code == _OK
    _, size = nvrtc.nvrtcGetPTXSize(program)
    ptx = b" " * size
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    return str(ptx.decode())


def _compiled(architecture: str, source: str, *options: str) -> tuple[Any, Any]:
    """Return the program that a source was compiled to, and what the compiler returned."""
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"a.cu", 0, [], [])
    given = (f"--gpu-architecture={architecture}", "-default-device", "--std=c++17", *options)
    encoded = [option.encode() for option in given]
    (code,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
    return program, code
