"""PoCL's third version reads a million characters of declarations with each program.

That takes longer than anything else that its compiler does.  Here, a program comes with the
declarations of those functions alone whose names are in it, word by word as PoCL's file has them.
Processes that tests start do without this, and so does ``make test-deep``.
"""

from __future__ import annotations

import re
import sys
from functools import cache
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
def _folder(version: str) -> Path | None:
    """Return where the file is of a PoCL: Debian's, or the one that comes with the tests."""
    if "+debian" in version:
        folder = Path("/usr/share/pocl/include")
    else:
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


def _folder_for(context: Any) -> Path | None:
    platform = context.devices[0].platform
    return _folder(platform.version) if platform.name == PLATFORM else None


def use_short_header() -> None:
    """Let pyopencl build programs in this way, if it is loaded."""
    cl: Any = sys.modules.get("pyopencl")
    if cl is None or "pyopencl.array" not in sys.modules:
        return
    if cl.Program.__module__ == __name__:
        return

    class Program(cl.Program):  # type: ignore[misc]  # of a module that is loaded late
        def __init__(self, context: Any, source: str) -> None:
            self._folder = _folder_for(context)
            short = source if self._folder is None else _with_declarations(source, self._folder)
            super().__init__(context, short)

        def build(self, options: Any = None, **more: Any) -> Any:
            short = [] if self._folder is None else [f"-D{_GUARD}", f"-I{self._folder}"]
            return super().build([*(options or ()), *short], **more)

    cl.Program = Program
