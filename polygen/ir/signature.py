"""The parameters of a function that users call: arguments are found by name, or refused."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter
from typing import Any

from polygen.errors import InvalidArgument, did_you_mean
from polygen.source import caller_location


class Signature:
    """The parameters of a function.

    Parameters:
        function: the function, or the ``__init__`` of a class.
        skipped: how many parameters, the first ones, are found elsewhere.
        name: how errors call it; its own name if that is empty.
        remedy: what errors say to do; if it is empty, they show the parameters.

    Attributes:
        any_name: the parameter for arguments of any name, as in ``fix_parameters(knl, n=4)``.
        parameters: the names of the others.
        by_position: those that are passed by position alone.
    """

    def __init__(
        self, function: Callable[..., object], skipped: int = 0, name: str = "", remedy: str = ""
    ) -> None:
        self.name = name or function.__qualname__
        self._remedy = remedy
        whole = list(inspect.signature(function).parameters.values())[skipped:]
        several = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        named = [p for p in whole if p.kind not in several]
        self._takes_more = any(p.kind is Parameter.VAR_POSITIONAL for p in whole)
        self.any_name = next((p.name for p in whole if p.kind is Parameter.VAR_KEYWORD), None)
        self.parameters = tuple([p.name for p in named])
        self._positional = [p.name for p in named if p.kind is not Parameter.KEYWORD_ONLY]
        self.by_position = [p.name for p in named if p.kind is Parameter.POSITIONAL_ONLY]
        self.defaults = {p.name: p.default for p in named if p.default is not Parameter.empty}
        self._needed = [n for n in self.parameters if n not in self.defaults]

    def by_name(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by their names.

        Raises:
            InvalidArgument: if there are too many, too few, or some that there are not.
        """
        most = len(self._positional)
        given = dict(zip(self._positional, args, strict=False))
        missing = [n for n in self._needed if n not in given and n not in kwargs]
        unknown = [n for n in kwargs if n not in self.parameters]
        if unknown and (missing or self.any_name is None):
            meant = did_you_mean(unknown[0], self._shown_names())
            shown = "" if self._remedy else f"; it is {self}"
            raise self.error(f"has no argument '{unknown[0]}'", f"{meant}{shown}")
        if len(args) > most and not self._takes_more:
            own = int("self" in self._positional)
            raise self.error(f"takes {most - own} positional arguments, not {len(args) - own}")
        if twice := [n for n in kwargs if n in given]:
            raise self.error(f"was given '{twice[0]}' twice")
        if missing:
            raise self.error(f"needs the argument '{missing[0]}'")
        given.update(kwargs)
        return given

    def error(self, what: str, remedy: str = "") -> InvalidArgument:
        """Return the error that says what is wrong with a call."""
        remedy = remedy or self._remedy or f"it is {self}"
        return InvalidArgument(f"{self.name} {what}", where=caller_location(), remedy=remedy)

    def __str__(self) -> str:
        shown = (n if n in self._needed else f"{n}=..." for n in self._shown_names())
        return f"{self.name}({', '.join(shown)})"

    def _shown_names(self) -> Iterable[str]:
        return [name for name in self.parameters if name != "self"]
