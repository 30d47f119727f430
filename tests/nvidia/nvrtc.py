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
    code, log = _compiled(architecture, source, options)
    return len(code), log


def assembly_of(architecture: str, source: str, *options: str) -> str:
    """Return a source's code for all devices from ``compute_...`` on, as text."""
    code, log = _compiled(architecture, source, options)
    assert code, log
    return code.decode().strip("\0 \n")


def _compiled(architecture: str, source: str, options: tuple[str, ...]) -> tuple[bytes, str]:
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"a.cu", 0, [], [])
    given = (f"--gpu-architecture={architecture}", "-default-device", "--std=c++17", *options)
    encoded = [option.encode() for option in given]
    (code,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
    _, size = nvrtc.nvrtcGetProgramLogSize(program)
    log = b" " * (size + 1)  # see polygen.runtime.backends.cuda.cuda_python
    nvrtc.nvrtcGetProgramLog(program, log)
    kind = "PTX" if "compute" in architecture else "CUBIN"
    found = b""
    if code == _OK:
        found = b" " * getattr(nvrtc, f"nvrtcGet{kind}Size")(program)[1]
        getattr(nvrtc, f"nvrtcGet{kind}")(program, found)
    nvrtc.nvrtcDestroyProgram(program)
    return found, log.decode().strip("\0 \n")
