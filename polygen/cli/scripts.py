"""Scripts with a function `transform`, whose steps are taken on a kernel that was read."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, cast

from polygen.cli.files import contents
from polygen.errors import InvalidArgument, PolygenError
from polygen.ir.kernel import Kernel
from polygen.language.programs import TranslationUnit

_Whole = TypeVar("_Whole", bound=Kernel | TranslationUnit)


def transformed(whole: _Whole, script: str) -> _Whole:
    """Return what the function ``transform`` of a script makes of a kernel, or of a program.

    The script is executed first, as ``python script.py`` would, but under a name of its own:
    what stands below ``if __name__ == "__main__"`` is not.  What it prints goes to the standard
    error, so that nothing but polygen's own text is in the output.

    Parameters:
        whole: the kernel, or the program.
        script: the path of the script.

    Raises:
        UnreadableFile: if the script is not there, or cannot be read.
        InvalidArgument: if the script cannot be executed, raises an error that is not polygen's,
            has no such function, or if that returns something else.
        UserError: what a step raises.
    """
    code = contents(script)
    with redirect_stdout(sys.stderr), neighbours(Path(script)), reported(script):
        module = ModuleType("polygen_script")
        module.__file__ = script
        exec(compile(code, script, "exec"), vars(module))  # noqa: S102  (the user's own script)
        function = _function(module, script)
        found = function(whole)
    if not isinstance(found, type(whole)):
        raise InvalidArgument(
            f"transform returned {found!r}, which is no {_kind(whole)}",
            where=script,
            remedy="end it with 'return knl'",
        )
    return found


def _kind(whole: Kernel | TranslationUnit) -> str:
    return "kernel" if isinstance(whole, Kernel) else "program"


def _function(module: ModuleType, script: str) -> Callable[[Any], object]:
    found = getattr(module, "transform", None)
    if not callable(found):
        raise InvalidArgument(
            "this script has no function 'transform'",
            where=script,
            remedy="define transform(knl), which takes a kernel and returns a kernel",
        )
    return cast("Callable[[Any], object]", found)


@contextmanager
def neighbours(path: Path) -> Generator[None]:
    """Let a script import what is in its folder."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


@contextmanager
def reported(script: str) -> Generator[None]:
    """Let what a script raises say at which of its lines; polygen's own errors do already."""
    try:
        yield
    except PolygenError:
        raise
    except SyntaxError as error:
        place = f"{error.filename}:{error.lineno}:{error.offset}"
        raise InvalidArgument(f"SyntaxError: {error.msg}", where=place) from None
    except (Exception, SystemExit) as error:  # sys.exit(0) would be a status that says yes
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == script]
        place = f"{script}:{own[-1].lineno}" if own else script
        what = "".join(traceback.format_exception_only(error)).strip()
        excerpt = own[-1].line if own else None
        raise InvalidArgument(what, where=place, excerpt=excerpt) from error
