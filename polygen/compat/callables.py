"""Functions of users' in Loo.py's form: classes with ``with_types`` and ``generate_preambles``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

import polygen as pg
from polygen.analysis.typing.functions import FUNCTIONS
from polygen.compat.targets import CTarget, CudaTarget, PyOpenCLTarget
from polygen.compat.types import NumpyType
from polygen.errors import InvalidArgument
from polygen.ir import walk
from polygen.ir.expression import Call, name_of
from polygen.ir.public import public, public_class
from polygen.source import caller_location

_T = TypeVar("_T", pg.Kernel, pg.TranslationUnit)

_TARGETS = {kind().name: kind for kind in (PyOpenCLTarget, CudaTarget, CTarget)}
# What arguments may be: a function is asked for its code of each, all of one type.
_TYPES = ("int32", "int64", "float32", "float64", "complex64", "complex128")


@public_class
class ScalarCallable:
    """A function of numbers that a subclass describes, as in Loo.py; or polygen's own, of a table.

    A subclass says in ``with_types`` what a target calls the function, and which types it takes
    and returns, and in ``generate_preambles`` what source begins with.  It is asked for arguments
    of each type, all of the same one: what it answers becomes a `polygen.ScalarCallable`.

    Attributes:
        name: what kernels call it.
        arg_id_to_dtype: the types of arguments by number, and of results, which are -1, -2, ...
        arg_id_to_descr: what is said of shapes; nothing depends on it.
        name_in_target: what the target calls it, or None.

    Parameters:
        name: the name; or the signatures of `polygen.ScalarCallable`, which is returned then.
        arg_id_to_dtype: as the attribute; or the preambles of `polygen.ScalarCallable`.
        arg_id_to_descr: as the attribute.
        name_in_target: as the attribute.
        _preambles: ``preambles=`` of `polygen.ScalarCallable`.
    """

    def __new__(
        cls,
        name: Any,
        arg_id_to_dtype: Any = None,
        arg_id_to_descr: Mapping[int, Any] | None = None,  # noqa: ARG004
        name_in_target: str | None = None,  # noqa: ARG004
        **preambles: Any,
    ) -> Any:
        """Return polygen's function if signatures are given."""
        if isinstance(name, str):
            return super().__new__(cls)
        texts = preambles.get("preambles", arg_id_to_dtype)
        return pg.ScalarCallable(name, "" if texts is None else texts)

    def __init__(
        self,
        name: Any,
        arg_id_to_dtype: Any = None,
        arg_id_to_descr: Mapping[int, Any] | None = None,
        name_in_target: str | None = None,
        **_preambles: Any,
    ) -> None:
        self.name = name
        self.arg_id_to_dtype = arg_id_to_dtype
        self.arg_id_to_descr = arg_id_to_descr
        self.name_in_target = name_in_target

    def copy(self, **changes: Any) -> Any:
        """Return the function with other attributes."""
        new = object.__new__(type(self))
        new.__dict__.update({**self.__dict__, **changes})
        return new

    def with_types(
        self, arg_id_to_dtype: Mapping[int, Any], callables_table: Any
    ) -> tuple[Any, Any]:
        """Return the function for arguments of these types: a subclass does."""
        return self.copy(arg_id_to_dtype=arg_id_to_dtype), callables_table

    def with_descrs(
        self, arg_id_to_descr: Mapping[int, Any], callables_table: Any
    ) -> tuple[Any, Any]:
        """Return the function for arguments of which this is said."""
        return self.copy(arg_id_to_descr=arg_id_to_descr), callables_table

    def generate_preambles(self, target: Any) -> Iterable[tuple[str, str]]:  # noqa: ARG002
        """Return what source begins with, each text with a name: nothing."""
        return ()


@public
def register_callable(
    translation_unit: _T,
    function_identifier: str,
    callable_: Any,
    redefining_not_ok: bool = True,  # noqa: ARG001  (it may always be said anew)
) -> _T:
    """Let calls of a name be calls of a function; see `polygen.register_callable`.

    A function that polygen has under this name stays polygen's.

    Raises:
        InvalidArgument: if the function says of no type what it returns.
    """
    if not isinstance(callable_, ScalarCallable):
        return pg.register_callable(translation_unit, function_identifier, callable_)
    if function_identifier in FUNCTIONS:
        return translation_unit
    ours = _asked(callable_, _argument_count(translation_unit, function_identifier))
    return pg.register_callable(translation_unit, function_identifier, ours)


def _argument_count(program: pg.Kernel | pg.TranslationUnit, name: str) -> int:
    """Return how many arguments the function has where kernels call it; 1 if none does."""
    kernels = program.kernels if isinstance(program, pg.TranslationUnit) else (program,)
    values = [v for k in kernels for insn in k.expanded.assignments for v in insn.values]
    nodes = [node for value in values for node in walk.subexpressions(value)]
    calls = [n for n in nodes if isinstance(n, Call) and name_of(n.function) == name]
    return next((len(call.parameters) for call in calls), 1)


def _asked(function: ScalarCallable, count: int) -> pg.ScalarCallable:
    """Return polygen's function: what Loo.py's answers for arguments of each type."""
    answers = [found for name in _TYPES if (found := _answer(function, name, count)) is not None]
    if not answers:
        raise InvalidArgument(
            f"'{function.name}' says of no type of its {count} arguments what it returns",
            where=caller_location(),
            remedy="with_types returns copy(name_in_target=, arg_id_to_dtype=) with -1 in it",
        )
    signatures = {str(a.name_in_target): _signature(a, count) for a in reversed(answers)}
    texts = {target: "\n".join(_texts(answers, target)) for target in _TARGETS}
    return pg.ScalarCallable(dict(reversed(signatures.items())), texts)


def _answer(function: ScalarCallable, dtype: str, count: int) -> ScalarCallable | None:
    """Return the function for arguments of a type; None if it does not take them."""
    types = {i: NumpyType(np.dtype(dtype)) for i in range(count)}
    try:
        found, _ = function.with_types(types, {})
    except (pg.errors.PolygenError, TypeError, ValueError, KeyError, NotImplementedError):
        return None  # that is how a subclass says that it does not
    known: Mapping[int, Any] = found.arg_id_to_dtype or {}
    return found if found.name_in_target and known.get(-1) is not None else None


def _signature(answer: ScalarCallable, count: int) -> str:
    types: Mapping[int, Any] = answer.arg_id_to_dtype or {}
    known = {i: np.dtype(t).name for i, t in types.items()}
    results = [known[i] for i in range(-1, -len(known) - 1, -1) if i in known]
    return f"{', '.join(known[i] for i in range(count))} -> {', '.join(results)}"


def _texts(answers: Iterable[ScalarCallable], target: str) -> list[str]:
    given = [pair for a in answers for pair in a.generate_preambles(_TARGETS[target]())]
    return [text for _, text in sorted(dict(given).items())]
