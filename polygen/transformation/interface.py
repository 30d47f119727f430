"""The signature of a transformation: arguments are found by it, and checked by annotation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, get_args, get_type_hints

from polygen.errors import InvalidArgument, MalformedTag, did_you_mean
from polygen.ir.cached import cached_property
from polygen.ir.kernel import Kernel
from polygen.ir.public import no_such
from polygen.language.programs import TranslationUnit
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation.argument_kinds import Kind, kind_of


class Interface:
    """The signature of a transformation, with a check for each argument."""

    def __init__(self, function: Callable[..., Kernel | Rearranged]) -> None:
        if not inspect.isroutine(function):
            raise no_such("transformation", "function", function, (FunctionType,))
        self.name = function.__name__
        self.is_polygens = str(function.__module__).startswith("polygen.")
        self._help = f"polygen.{self.name}" if self.is_polygens else self.name
        self._function = function
        parameters = dict(list(inspect.signature(function).parameters.items())[1:])
        # A transformation may take names of its choice, as in fix_parameters(knl, n=4).
        self._any_name = next((n for n, p in parameters.items() if p.kind is p.VAR_KEYWORD), None)
        named = {n: p for n, p in parameters.items() if n != self._any_name}
        self._parameters = tuple(named)
        self._positional = [n for n, p in named.items() if p.kind is not p.KEYWORD_ONLY]
        self._by_position = [n for n, p in named.items() if p.kind is p.POSITIONAL_ONLY]
        self._defaults = {n: p.default for n, p in named.items() if p.default is not p.empty}

    @cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self._function, include_extras=True)

    @cached_property
    def _checks(self) -> dict[str, Kind | None]:
        return {name: kind_of(hint) for name, hint in self._hints.items() if name != "return"}

    @cached_property
    def _may_be_none(self) -> frozenset[str]:
        hints = self._hints.items()
        return frozenset([name for name, hint in hints if type(None) in get_args(hint)])

    def entry_point(self, program: TranslationUnit) -> Kernel:
        """Return the kernel of a program that a step is taken on."""
        if len(program.entrypoints) == 1:
            return program.default_entrypoint
        names = sorted(program.entrypoints)
        listed = ", ".join(f"'{name}'" for name in names)
        some = names[0] if names else program.kernels[-1].name
        raise InvalidArgument(
            f"{self.name} was called on a program with {len(names)} entry points"
            + (f": {listed}" if names else ""),
            where=caller_location(),
            remedy=f"say which: program.with_kernel({self.name}(program['{some}'], ...))",
        )

    def call(self, kernel: Kernel, arguments: Mapping[str, Any]) -> object:
        """Call the function with arguments as `bind` returns them."""
        by_name = dict(arguments)
        by_position = [by_name.pop(name) for name in self._by_position]
        return self._function(kernel, *by_position, **by_name)

    def bind(self, kernel: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name, those that are left out too.

        Raises:
            InvalidArgument: if they are not as the signature and the annotations say.
        """
        if not isinstance(kernel, Kernel):
            raise no_such(self.name, "kernel", kernel, (Kernel,))
        given = self._by_name(args, kwargs)
        for name, value in given.items():
            kind = self._checks[name if name in self._parameters else str(self._any_name)]
            if kind is not None and not self._holds(kind, kernel, name, value):
                raise self._error(f"was given {name}={value!r}, which is not {kind.what}")
        return given

    def _holds(self, kind: Kind, kernel: Kernel, name: str, value: Any) -> bool:
        if value is None and name in self._may_be_none:
            return True
        try:
            return kind.check(kernel, value)
        except MalformedTag as error:
            raise self._error(f"was given {name}={value!r}: {error.what}", error) from None

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        most = len(self._positional)
        if len(args) > most:
            raise self._error(f"takes {most} positional arguments, not {len(args)}")
        given = dict(zip(self._positional, args, strict=False))
        for name, value in kwargs.items():
            if name not in self._parameters and self._any_name is None:
                raise self._error(
                    f"has no argument '{name}'", remedy=did_you_mean(name, self._parameters)
                )
            if name in given:
                raise self._error(f"was given '{name}' twice")
            given[name] = value
        for name in self._parameters:
            if name not in given:
                if name not in self._defaults:
                    raise self._error(f"needs the argument '{name}'")
                given[name] = self._defaults[name]
        return {name: _listed(given[name]) for name in (*self._parameters, *kwargs)}

    def check_start(self, result: Rearranged) -> None:
        """Check that nothing is left out of the proof of a step.

        Raises:
            InvalidArgument: if it is, and the transformation is none of polygen's own.
        """
        if not self.is_polygens and (result.restated or result.computes_as):
            raise self._error(
                "says which kernel its proof begins with, or is about, as none but polygen's own "
                "transformations may",
                remedy="leave out restated= and computes_as=; for a step that changes the meaning "
                "on purpose, @transformation(declared=True); for one that you vouch for, "
                "unsafe=True",
            )

    def no_kernel(self, returned: object) -> InvalidArgument:
        """Return the error that says that the function returned something else than a kernel."""
        return self._error(f"returned {returned!r}, which is no kernel")

    def _error(
        self, what: str, cause: InvalidArgument | MalformedTag | None = None, remedy: str = ""
    ) -> InvalidArgument:
        return InvalidArgument(
            f"{self.name} {what}",
            where=caller_location(),
            remedy=(cause.remedy if cause else remedy) or f"see help({self._help})",
        )


def _listed(value: Any) -> Any:
    """Return a set of names as a sequence: its order is not the same in every process."""
    if not _is_set(value):
        return value
    names = [name for name in value if isinstance(name, str)]
    return tuple(sorted(names)) if len(names) == len(value) else value


def _is_set(value: object) -> bool:
    return isinstance(value, frozenset | set)
