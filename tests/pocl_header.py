"""PoCL's third version reads a million characters of declarations with each program.

That takes longer than anything else that its compiler does.  Here, a program comes with the
declarations of those functions alone whose names are in it, word by word as PoCL's file has them.
Processes that tests start do without this, and so does ``make test-deep``.
"""

from __future__ import annotations

import re
import sys
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from polygen.runtime.backends.opencl.pocl import PLATFORM

_BASE = '#include "opencl-c-base.h"'
_GUARD = "_OPENCL_H_"
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_NAME = re.compile(r"\b(?!__attribute__)(\w+)\s*\(")
_WORD = re.compile(r"\w+")


@cache
def _folder() -> Path | None:
    """Return where the file is, if this is the PoCL that comes with the tests."""
    found = find_spec("pocl_binary_distribution")
    if found is None or found.origin is None:
        return None
    folder = Path(found.origin).parent / ".libs" / "share" / "pocl" / "include"
    return folder if (folder / "opencl-c.h").is_file() else None


@cache
def _lines(folder: Path) -> tuple[tuple[str, str], ...]:
    """Return the directives and declarations, each with the name that is declared."""
    text = _COMMENT.sub("", (folder / "opencl-c.h").read_text()).replace("\\\n", " ")
    found: list[tuple[str, str]] = []
    begun = ""
    for line in text.splitlines():
        if line.startswith("#"):
            found.append(("", line))
            continue
        begun += f" {line}"
        if line.rstrip().endswith(";"):
            name = _NAME.search(begun)
            assert name, begun
            found.append((name[1], begun))
            begun = ""
    assert not begun.strip(), begun
    return tuple(found)


def _with_declarations(source: str, folder: Path) -> str:
    words = {*_WORD.findall(source), ""}
    declared = [line for name, line in _lines(folder) if name in words]
    assert declared.count(_BASE) == 1
    return "\n".join([f"#undef {_GUARD}", *declared, "#line 1", source])


def use_short_header() -> None:
    """Let pyopencl build programs in this way, if it is loaded."""
    cl: Any = sys.modules.get("pyopencl")
    folder = _folder()
    if cl is None or folder is None or "pyopencl.array" not in sys.modules:
        return
    if cl.Program.__module__ == __name__:
        return
    shortened = partial(_with_declarations, folder=folder)

    class Program(cl.Program):  # type: ignore[misc]  # of a module that is loaded late
        def __init__(self, context: Any, source: str) -> None:
            self._short = context.devices[0].platform.name == PLATFORM
            super().__init__(context, shortened(source) if self._short else source)

        def build(self, options: Any = None, **more: Any) -> Any:
            short = [f"-D{_GUARD}", f"-I{folder}"] if self._short else []
            return super().build([*(options or ()), *short], **more)

    cl.Program = Program
