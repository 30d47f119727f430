"""Functions of the user's: which types they take and return, and their code for each target."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pymbolic.primitives import expr_dataclass

from polygen.errors import BuiltInFunction, InvalidArgument
from polygen.ir import expression as ex
from polygen.ir.dtype import DType, dtype_name, to_dtype
from polygen.ir.names import check_name
from polygen.ir.options import TARGET_NAMES
from polygen.ir.public import public_class
from polygen.source import caller_location

_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[fFuUlL]*")
_FORM = re.compile(r"\s*([\w\s,]*?)\s*->\s*([\w\s,]+?)\s*")


@dataclass(frozen=True)
class Signature:
    """A function of the target's: what it is called, what it takes and returns.

    In C, a function with several results returns nothing, and takes pointers to them behind its
    arguments.

    Attributes:
        name: its name there.
        arguments: the types of its arguments.
        results: the types of its results.
    """

    name: str
    arguments: tuple[DType, ...]
    results: tuple[DType, ...]

    def __str__(self) -> str:
        arguments, results = (
            ", ".join(map(dtype_name, types)) for types in (self.arguments, self.results)
        )
        return f"{self.name}({arguments}) -> {results}"


@public_class
@dataclass(frozen=True, init=False)
class ScalarCallable:
    """A function of numbers that kernels may call.

    It is taken for a function in the sense of mathematics: its results depend on its arguments
    alone, and it does nothing else.  Proofs rely on that.

    Attributes:
        signatures: the functions of the target's that stand for it; the first one counts that the
            arguments can be converted to without loss.
        preambles: pairs of a target, ``"*"`` for all of them, and the text that its source begins
            with; a target that is not there does not have the function.

    Parameters:
        signatures: for each function of the target's, what it takes and returns:
            ``{"norm_d": "float64, float64 -> float64"}``.
        preambles: the text for each target by its name, or one text for all.

    Raises:
        InvalidArgument: if something has another form, or there is no such target.
        ReservedName: if a name is none, or means something else in a target's language.

    >>> ScalarCallable({"twice": "float64 -> float64"}).signatures[0].results
    (dtype('float64'),)
    """

    signatures: tuple[Signature, ...]
    preambles: tuple[tuple[str, str], ...]

    def __init__(
        self, signatures: Mapping[str, str], preambles: Mapping[str, str] | str = ""
    ) -> None:
        _check_are_named(signatures)
        found = tuple([_signature(name, text) for name, text in dict(signatures).items()])
        counts = {(len(s.arguments), len(s.results)) for s in found}
        if len(counts) != 1:
            raise InvalidArgument(
                "the signatures of a function need one number of arguments, and one of results",
                where=caller_location(),
                remedy="register two functions",
            )
        object.__setattr__(self, "signatures", found)
        object.__setattr__(self, "preambles", _by_target(preambles))

    @property
    def argument_count(self) -> int:
        """The number of arguments."""
        return len(self.signatures[0].arguments)

    @property
    def result_count(self) -> int:
        """The number of results."""
        return len(self.signatures[0].results)

    def preamble(self, target: str) -> str | None:
        """Return what the source of a target begins with; None if that has no such function."""
        texts = dict(self.preambles)
        return texts.get(target, texts.get("*"))

    def lines(self, name: str) -> list[str]:
        """Return what `print` shows of it."""
        lines = [f"{name} = {signature}" for signature in self.signatures]
        return lines + [
            f"{name} in {t}: {text!r}" for t, text in self.preambles if text or t != "*"
        ]


@dataclass(frozen=True, init=False)
class Symbol:
    """A constant that has a name in the language of the target: a function without arguments.

    Attributes:
        dtype: its type.
        texts: pairs of a target, ``"*"`` for all of them, and what it is called there: a name,
            or a number.
        preambles: as those of a `ScalarCallable`.

    Parameters:
        dtype: the type.
        texts: the name for each target by its name, or one for all.
        preambles: the text for each target by its name, or one text for all.

    Raises:
        InvalidArgument: if NumPy has no such type, a name is no identifier, or there is no such
            target.
    """

    dtype: DType
    texts: tuple[tuple[str, str], ...]
    preambles: tuple[tuple[str, str], ...]

    def __init__(
        self,
        dtype: object,
        texts: Mapping[str, str] | str,
        preambles: Mapping[str, str] | str = "",
    ) -> None:
        given = _by_target(texts)
        for _, name in given:
            is_name = name.isascii() and name.isidentifier()
            if not is_name and not _NUMBER.fullmatch(name):
                raise InvalidArgument(
                    f"'{name}' is no name that a constant has in a target's language",
                    where=caller_location(),
                    remedy="give an identifier, or a number such as 5.0f; what a name stands for "
                    "may be in the preamble",
                )
        object.__setattr__(self, "dtype", to_dtype(dtype))
        object.__setattr__(self, "texts", given)
        object.__setattr__(self, "preambles", _by_target(preambles))

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The types of its results; it has no arguments."""
        return (Signature("symbol", (), (self.dtype,)),)

    @property
    def argument_count(self) -> int:
        """The number of arguments: none."""
        return 0

    @property
    def result_count(self) -> int:
        """The number of results: one."""
        return 1

    def text(self, target: str) -> str | None:
        """Return what a target calls it; None if that has no such constant."""
        texts = dict(self.texts)
        return texts.get(target, texts.get("*"))

    def preamble(self, target: str) -> str | None:
        """Return what the source of a target begins with; None if that has no such constant."""
        if self.text(target) is None:
            return None
        texts = dict(self.preambles)
        return texts.get(target, texts.get("*", ""))

    def lines(self, name: str) -> list[str]:
        """Return what `print` shows of it."""
        lines = [f"{name} = symbol -> {dtype_name(self.dtype)}"]
        lines += [f"{name} is {t}: {text!r}" for t, text in self.texts]
        return lines + [f"{name} in {t}: {text!r}" for t, text in self.preambles if text]


def _check_are_named(signatures: object) -> None:
    if not isinstance(signatures, Mapping):
        raise InvalidArgument(
            f"a function cannot be made of {signatures!r}: it is not said what it takes",
            where=caller_location(),
            remedy="write ScalarCallable({'norm': 'float64, float64 -> float64'})",
        )


def _by_target(texts: Mapping[str, str] | str) -> tuple[tuple[str, str], ...]:
    """Return pairs of a target, ``"*"`` for all of them, and a text for it."""
    given, known = {"*": texts} if isinstance(texts, str) else dict(texts), sorted(TARGET_NAMES)
    for target in given:
        if target not in ("*", *known):
            raise InvalidArgument(
                f"a text is given for {target!r}, which is no target",
                where=caller_location(),
                remedy=f"targets are {' and '.join(map(repr, known))}; '*' stands for all",
            )
    return tuple(sorted(given.items()))


def _signature(name: str, text: str) -> Signature:
    match = _FORM.fullmatch(text)
    if match is None:
        raise InvalidArgument(
            f"{text!r} does not say what '{name}' takes and returns",
            where=caller_location(),
            remedy="write types, as in 'float64, int32 -> float64'",
        )
    check_name(name, foreign=True)
    arguments, results = (
        tuple([to_dtype(part.strip()) for part in side.split(",") if part.strip()])
        for side in match.groups()
    )
    return Signature(name, arguments, results)


@expr_dataclass()
class UserFunction(ex.Variable):
    """The name of a function in a call, with what it is.

    Attributes:
        name: what the kernel calls it.
        definition: what it is.
    """

    definition: ScalarCallable | Symbol


def user_function(node: Any) -> UserFunction | None:
    """Return the function of the user's that a node calls; None if it is no such call."""
    function = node.function if isinstance(node, ex.Call) else None
    return function if isinstance(function, UserFunction) else None


def is_symbol(node: Any) -> bool:
    """Tell whether a node is a constant of the target's: a call that is written without one."""
    found = user_function(node)
    return found is not None and isinstance(found.definition, Symbol)


def checked_functions(functions: Mapping[str, object], reserved: Sequence[str]) -> dict[str, Any]:
    """Return functions by name, if each of them is one.

    Parameters:
        functions: what was given.
        reserved: names that mean other functions.

    Raises:
        BuiltInFunction: if one has the name of another function.
        InvalidArgument: if something is no `ScalarCallable`.
        ReservedName: if a name is none.
    """
    for name, function in dict(functions).items():
        if name in reserved:
            raise BuiltInFunction(
                f"'{name}' is a function that kernels can call anyway, and cannot be one of your "
                "own",
                where=caller_location(),
                remedy=f"give yours another name, such as '{name}_', in the kernel, too",
            )
        check_name(name, foreign=True)
        if not isinstance(function, ScalarCallable):
            raise InvalidArgument(
                f"'{name}' is given as {function!r}, which is no function",
                where=caller_location(),
                remedy="pass a polygen.ScalarCallable",
            )
    return dict(functions)
