"""The kernels of an example: those that its `main` calls, and those whose code it asks for.

`main` runs, but no kernel does: a call leaves zeros, and nobody looks whether these are right.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Generator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

import polygen as pg
from polygen.ir import kernel as ir_kernel
from polygen.ir.kernel import Kernel
from polygen.ir.slots import slot
from polygen.pipeline import generate_code
from polygen.runtime.arrays.outputs import written_arrays
from polygen.runtime.backends.backend_table import libraries_of
from polygen.runtime.calls.arguments import Call, examine, form_of
from polygen.runtime.calls.kernel_variant import make_variant
from polygen.targets.programs.program import Program
from tests.replay.texts import Texts, texts_of

FOLDER = Path(__file__).parents[2] / "examples"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.py")))
_WRITE = ("demo", "unsharp_mask")  # files to the folder that `main` is passed


def texts_of_example(name: str) -> dict[str, Texts]:
    """Return the texts of an example's kernels, by names of these."""
    recorder = _Recorder()
    path = FOLDER / f"{name}.py"
    module: Any = ModuleType(f"replayed_{name}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # where dataclasses look for it
    with tempfile.TemporaryDirectory() as folder, recorder.listening():
        # Without assertions: results are zeros.
        code = compile(path.read_text(), path.name, "exec", optimize=1)
        exec(code, vars(module))  # noqa: S102  (an example)
        if name == "demo":
            module.write_files = lambda _folder: None  # of other examples
        module.main(*([folder] if name in _WRITE else []))
    return recorder.texts


class _Recorder:
    def __init__(self) -> None:
        self.texts: dict[str, Texts] = {}
        self._known: set[Any] = set()

    @contextlib.contextmanager
    def listening(self) -> Generator[None]:
        """Note what is called meanwhile, and do not run it."""
        with (
            patch.object(ir_kernel, "slot", self._slot),
            patch.object(pg, "generate_code", self._generate),
            patch.object(np.testing, "assert_allclose", _accept),
            patch.object(np.testing, "assert_array_equal", _accept),
            contextlib.redirect_stdout(io.StringIO()),
        ):
            yield

    def _slot(self, name: str) -> Any:
        if name != "executor":
            return slot(name)
        return lambda kernel, _device: partial(self._call, kernel)

    def _note(self, kernel: Kernel, key: Any, texts: Texts) -> None:
        self._known.add((kernel, key))
        self.texts[f"{len(self.texts)}_{kernel.name}"] = texts

    def _generate(self, kernel: Kernel, target: str | None = None) -> Program:
        if (kernel, None) not in self._known:
            self._note(kernel, None, texts_of(partial(generate_code, kernel)))
        with pg.without_proofs():
            return generate_code(kernel, target)

    def _call(self, kernel: Kernel, /, **args: Any) -> Any:
        """Note the code that a call with NumPy's arrays needs."""
        whole = kernel.expanded
        classes: dict[str, type] = {name: type(value) for name, value in args.items()}
        form = form_of(whole, "c", classes, libraries_of(args))
        call = examine(form, args)
        if (kernel, call.variant) not in self._known:
            self._note(kernel, call.variant, texts_of(partial(_program, kernel, call)))
        outputs = [_output(whole, name, call, args) for name in written_arrays(whole)]
        return None, tuple(outputs)


def _program(kernel: Kernel, call: Call, target: str) -> Program:
    return make_variant(kernel.without_rules, replace(call.variant, target=target)).program


def _output(kernel: Kernel, name: str, call: Call, args: dict[str, Any]) -> Any:
    return args[name] if name in args else np.zeros(call.allocated[name].shape, np.float32)


def _accept(*_: Any, **__: Any) -> None:
    """Be content with any result."""
