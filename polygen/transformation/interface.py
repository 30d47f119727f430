"""The signature of a transformation: arguments are found by it, and checked by annotation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any, cast, get_args, get_type_hints

from polygen.errors import InvalidArgument, MalformedTag, UserError, did_you_mean
from polygen.ir import expression as ex
from polygen.ir.cached import cached_property
from polygen.ir.kernel import Kernel
from polygen.ir.public import no_such
from polygen.ir.signature import Signature
from polygen.language.programs import TranslationUnit
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation.argument_kinds import Kind, kind_of
from polygen.transformation.fields import check_claims_stay, check_fields


class Interface:
    """The signature of a transformation, with a check for each argument."""

    def __init__(self, function: Callable[..., Kernel | Rearranged]) -> None:
        if not inspect.isroutine(function):
            raise no_such("transformation", "function", function, (FunctionType,))
        self.name = function.__name__
        self._check_function(function)
        self.is_polygens = str(function.__module__).startswith("polygen.")
        self._function = function
        self._help = f"see help({'polygen.' * self.is_polygens}{self.name})"
        self._signature = Signature(function, skipped=1, name=self.name, remedy=self._help)

    def _check_function(self, function: Callable[..., object]) -> None:
        """Check that a function can be made a transformation of."""
        parameters = list(inspect.signature(function).parameters.values())
        named = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)
        if not parameters or parameters[0].kind in named:
            what, remedy = "takes no kernel", f"def {self.name}(kernel, ...)"
        elif any(p.kind is p.VAR_POSITIONAL for p in parameters):
            what, remedy = "takes arguments that have no names (*)", "give each of them a name"
        elif any(p.name == "unsafe" for p in parameters):
            what = "has an argument 'unsafe', as every transformation has anyway"
            remedy = "leave it out, or give it another name"
        else:
            return
        raise InvalidArgument(f"{self.name} {what}", where=caller_location(), remedy=remedy)

    @cached_property
    def _hints(self) -> dict[str, Any]:
        try:
            return get_type_hints(self._function, include_extras=True)
        except (NameError, TypeError) as error:
            raise self._error(
                f"has annotations that mean nothing: {error}",
                remedy="import what they mention where the function is defined",
            ) from None

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
        """Call the function with arguments as `bind` returns them.

        Errors of the steps that a user's own function takes begin with its name.
        """
        by_name = dict(arguments)
        by_position = [by_name.pop(name) for name in self._signature.by_position]
        try:
            return self._function(kernel, *by_position, **by_name)
        except UserError as error:
            if self.is_polygens:
                raise
            raise error.inside(self.name) from None

    def bind(self, kernel: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by name, those that are left out too.

        Raises:
            InvalidArgument: if they are not as the signature and the annotations say.
        """
        if not isinstance(kernel, Kernel):
            raise no_such(self.name, "kernel", kernel, (Kernel,))
        signature = self._signature
        given = {**signature.defaults, **signature.by_name(args, kwargs)}
        given = {name: _kept(given[name]) for name in (*signature.parameters, *kwargs)}
        for name, value in given.items():
            kind = self._checks.get(
                name if name in signature.parameters else str(signature.any_name)
            )
            if kind is not None and not self._holds(kind, kernel, name, value):
                raise self._error(f"was given {name}={value!r}, which is not {kind.what}")
        return given

    def check_unsafe(self, unsafe: object) -> None:
        """Check what is said of the proof: a number might be meant for a size of that name."""
        if not isinstance(unsafe, bool):
            raise self._error(f"was given unsafe={unsafe!r}, which is neither True nor False")

    def _holds(self, kind: Kind, kernel: Kernel, name: str, value: Any) -> bool:
        if value is None and name in self._may_be_none:
            return True
        try:
            return kind.check(kernel, value)
        except MalformedTag as error:
            raise self._error(f"was given {name}={value!r}: {error.what}", error) from None

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

    def result(self, before: Kernel, returned: object) -> Rearranged:
        """Return what the function returned, as what it says of instances.

        Raises:
            InvalidArgument: if that is no kernel, or something else is said.
            MalformedKernel: if a user's function returned a kernel with something else in a field.
        """
        said = Rearranged(returned) if isinstance(returned, Kernel) else returned
        kernel = said.kernel if isinstance(said, Rearranged) else said
        if not isinstance(kernel, Kernel) or not isinstance(said, Rearranged):
            raise self._error(f"returned {kernel!r}, which is no kernel")
        if not self.is_polygens:
            check_fields(self.name, kernel)
            check_claims_stay(self.name, before, kernel)
            self._check_ids("by_instruction", said.by_instruction, kernel)
            self._check_ids("ids", said.ids, before)
            for values in (said.values, *said.by_instruction.values()):
                self._check_values(values)
        return said

    def _check_ids(self, name: str, given: object, kernel: Kernel) -> None:
        """Check that what a transformation says of instructions is about some that there are."""
        if not isinstance(given, Mapping):
            raise self._error(f"says {name}={given!r}, which is no dictionary")
        ids = cast("Mapping[str, object]", given)
        if unknown := sorted(str(i) for i in ids if i not in kernel.instructions_by_id):
            raise self._error(
                f"says something of the instruction '{unknown[0]}', which there is not",
                remedy=did_you_mean(unknown[0], kernel.instructions_by_id),
            )

    def _check_values(self, said: object) -> None:
        """Check that a transformation says of inames what they are."""
        pairs = cast("Mapping[object, object]", said).items() if isinstance(said, Mapping) else None
        kinds = (ex.ExpressionNode, int)
        if pairs is None or not all(isinstance(n, str) and isinstance(v, kinds) for n, v in pairs):
            raise self._error(
                f"says {said!r} of what old inames are",
                remedy='say it of each by its name: {"i": 16*Variable("i_outer") + '
                'Variable("i_inner")}, with Variable of polygen.ir.expression',
            )

    def _error(
        self, what: str, cause: InvalidArgument | MalformedTag | None = None, remedy: str = ""
    ) -> InvalidArgument:
        return self._signature.error(what, (cause.remedy if cause else remedy) or "")


def _kept(value: Any) -> Any:
    """Return an argument for the history: it stays as it is now, and has an order.

    The order of a set of names is not the same in every process.
    """
    if isinstance(value, list):
        return [_kept(part) for part in cast("Iterable[Any]", value)]
    if isinstance(value, dict):
        return {name: _kept(part) for name, part in cast("Mapping[Any, Any]", value).items()}
    if not isinstance(value, frozenset | set):
        return value
    several = cast("frozenset[Any]", value)
    names = [name for name in several if isinstance(name, str)]
    return tuple(sorted(names)) if len(names) == len(several) else several
