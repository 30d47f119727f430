"""polygen: a polyhedral, transformation-based code generator for GPUs and CPUs."""

import ast
from pathlib import Path
from typing import Any

import lazy_loader  # pyright: ignore[reportMissingTypeStubs]  (it says no types)

from polygen.forks import watch_forks

__version__ = "0.1.0"


def _homes() -> dict[str, list[str]]:
    """Return the public names by their modules, as the stub beside this file imports them."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found: dict[str, list[str]] = {}
    for line in stub.body:
        if isinstance(line, ast.ImportFrom):
            module = (line.module or "").removeprefix(__name__).removeprefix(".")
            found.setdefault(module, []).extend(alias.name for alias in line.names)
    return found


_library: Any = lazy_loader
_attributes = _homes()
_submodules = _attributes.pop("")  # `errors`
__getattr__, __dir__, __all__ = _library.attach(__name__, _submodules, _attributes)
watch_forks()
