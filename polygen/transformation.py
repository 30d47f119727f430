"""What makes a function a transformation: checked arguments, a checked result, a history.

A transformation is a function from a kernel (and arguments) to a kernel, under `transformation`.
Its annotations say what its arguments are; polygen's own are below, for use in transformations of
one's own as well.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from types import FunctionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
    get_args,
    get_type_hints,
    overload,
)

import numpy as np

from polygen.analysis.inlining import parts_of_calls
from polygen.analysis.instance_map import at_new_instance
from polygen.analysis.proving import limited_step, proofs_are_on, without_proofs
from polygen.analysis.relations import moved_relations
from polygen.analysis.sound import is_sound, keeps_sound, note_sound, only_adds_types
from polygen.analysis.wellformed_calls import check_calls_of_kernels
from polygen.errors import InvalidArgument, MalformedTag, NameTaken, did_you_mean
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.changed import changed
from polygen.ir.collection import without_collection
from polygen.ir.expression import Expression
from polygen.ir.ids import with_ids
from polygen.ir.kernel import Kernel, Step
from polygen.ir.names import check_name
from polygen.ir.public import classes_of, in_words, no_such, public
from polygen.ir.substitution import SubstitutionRule
from polygen.ir.tags import InameTag, parse_tag
from polygen.ir.verify import verify
from polygen.language.arguments import normalised
from polygen.language.programs import TranslationUnit
from polygen.language.within import matching
from polygen.proof import Rearranged, prove
from polygen.source import caller_location

_P = ParamSpec("_P")


@dataclass(frozen=True)
class Kind:
    """What an annotation says of an argument.

    Attributes:
        what: how an error names it.
        check: takes the kernel and the value; returns False, or raises, if it will not do.
    """

    what: str
    check: Callable[[Kernel, Any], bool]


def is_iname(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` names an iname; raise UnknownIname if it is another name."""
    if not isinstance(value, str):
        return False
    kernel.check_iname(value)
    return True


def to_names(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return the names that a text with commas, or a sequence, lists."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    return tuple(value)


def are_inames(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` lists inames; raise UnknownIname if it lists another name."""
    if not isinstance(value, str | Sequence):
        return False
    given = cast("str | Sequence[str]", value)
    return all(is_iname(kernel, name) for name in to_names(given))


def is_name(_kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` could be a name."""
    return isinstance(value, str) and value.isascii() and value.isidentifier()


def is_new_name(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` is a text; raise if it cannot be a new name."""
    if not isinstance(value, str):
        return False
    check_name(value)
    if value in kernel.names:
        raise NameTaken(
            f"kernel '{kernel.name}' already has a '{value}'",
            where=caller_location(),
            remedy=f"'{kernel.new_name(value)}' is free",
        )
    return True


def _are_texts(value: Any) -> bool:
    if not isinstance(value, str | Sequence):
        return False
    return all(isinstance(v, str) for v in cast("Sequence[object]", value))


def _is_within(kernel: Kernel, value: Any) -> bool:
    return _are_texts(value) and bool(matching(kernel, value))


def is_tag(_kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` is a tag; raise MalformedTag if it is a text that stands for none."""
    if isinstance(value, str):
        parse_tag(value)
        return True
    return isinstance(value, get_args(InameTag))


def _is_positive(_kernel: Kernel, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


Iname: TypeAlias = Annotated[str, Kind("the name of an iname", is_iname)]
Inames: TypeAlias = Annotated[
    str | Sequence[str], Kind("inames: 'i, j' or a sequence of them", are_inames)
]
Name: TypeAlias = Annotated[str, Kind("a name: letters, digits and underscores", is_name)]
NewName: TypeAlias = Annotated[str, Kind("a name that is not used yet", is_new_name)]
Names: TypeAlias = Annotated[
    str | Sequence[str], Kind("names: 'i, j' or a sequence of them", lambda _, v: _are_texts(v))
]
Within: TypeAlias = Annotated[
    str | Sequence[str],
    Kind("ids of instructions, patterns of ids, or a sequence of these", _is_within),
]
Tag: TypeAlias = Annotated[str | InameTag, Kind("an iname tag such as 'g.0' or 'unr'", is_tag)]
PositiveInt: TypeAlias = Annotated[int, Kind("a positive integer", _is_positive)]


def to_tag(tag: str | InameTag) -> InameTag:
    """Return the tag that an argument of kind `Tag` stands for."""
    return parse_tag(tag) if isinstance(tag, str) else tag


_Function: TypeAlias = Callable[Concatenate[Kernel, _P], Kernel | Rearranged]
_Whole = TypeVar("_Whole", bound=Kernel | TranslationUnit)


class Transformation(Protocol[_P]):
    """What `transformation` makes: a function from a kernel to a kernel, or program to program."""

    __name__: str

    def __call__(self, kernel: _Whole, /, *args: _P.args, **kwargs: _P.kwargs) -> _Whole:
        """Return the new kernel, or the program with it."""
        ...


@overload
def transformation(function: _Function[_P]) -> Transformation[_P]: ...
@overload
def transformation(*, declared: bool) -> Callable[[_Function[_P]], Transformation[_P]]: ...
@public
def transformation(function: Any = None, *, declared: bool = False) -> Any:
    """Make a transformation of a function from a kernel to a kernel.

    The result checks its arguments by their annotations, checks that the new kernel fits
    together, proves that it computes the same, and records the step in the kernel's history.  A
    step that changes nothing returns the kernel that it was given.

    A step that is given a program, as `merge` returns it, changes its only entry point.

    The function returns the new kernel or, if it gives instances other coordinates, a
    `Rearranged` that says what the old inames are.  Every transformation also takes
    ``unsafe=True``: the step is then not proved, and noted in the kernel for good.

    Parameters:
        function: takes a kernel and arguments.
        declared: the transformation changes the kernel's meaning or interface on purpose, or
            states a fact: nothing is proved.

    Raises:
        IllegalStep, CannotProve, NotTheSame: when a step is taken that cannot be proved.
        ProofLimit: when a step, or its proof, is too much work for isl.
    """
    if function is None:
        return functools.partial(_make_step, declared=declared)
    return _make_step(function, declared=declared)


def _make_step(function: Callable[..., Kernel | Rearranged], *, declared: bool) -> Any:
    interface = _Interface(function)

    @functools.wraps(function)
    @without_collection
    def step(kernel: Any = None, /, *args: Any, unsafe: bool = False, **kwargs: Any) -> Any:
        if isinstance(kernel, TranslationUnit):
            old = interface.entry_point(kernel)
            return kernel.with_step(old, step(old, *args, unsafe=unsafe, **kwargs))
        arguments = interface.bind(kernel, args, kwargs)
        # Whoever vouches for a step does so for the steps that it takes inside.
        proofs = without_proofs() if unsafe else nullcontext()
        with limited_step(interface.name, kernel), proofs:
            returned = interface.call(kernel, arguments)
        if not isinstance(returned, Kernel | Rearranged):
            raise interface.no_kernel(returned)
        result = returned if isinstance(returned, Rearranged) else Rearranged(returned)
        result = _with_rules(_with_variables(result))
        if result.kernel is kernel:
            return kernel
        result = changed(result, kernel=moved_relations(result.kernel, result.instances))
        if kernel.separations:
            result = _with_separations(kernel, result)
        verify(result.kernel)
        start = kernel if result.restated is None else result.restated
        if unsafe:
            arguments["unsafe"] = True
        elif not declared and proofs_are_on() and not _came_by_steps(result.kernel, kernel):
            prove(interface.name, _under_its_ids(start, result).expanded, _expanded(result))
            check_calls_of_kernels(result.kernel)
        taken = Step(interface.name, tuple(arguments.items()), step)
        claims = (*result.kernel.claims, f"{taken}") if unsafe else result.kernel.claims
        new = _with_history(result.kernel.copy(claims=claims), kernel, taken)
        if keeps_sound(kernel.expanded, new) and only_adds_types(kernel, new):
            note_sound(new.expanded)
        if unsafe or (proofs_are_on() and not declared and _came_by_steps(start, kernel)):
            new.memo[_BEFORE] = kernel  # what is copied from it has a memo of its own
        return new

    return step


def _under_its_ids(kernel: Kernel, result: Rearranged) -> Kernel:
    """Return the kernel before a step, with the ids that the step says."""
    if not result.ids:
        return kernel
    renamed = with_ids(kernel, result.ids)
    verify(renamed)  # no two instructions may become one
    if is_sound(kernel.expanded):
        note_sound(renamed.expanded)
    return renamed


def _expanded(result: Rearranged) -> Rearranged:
    """Return the result without rules and calls; what it says of a call is true of all of it."""
    parts = parts_of_calls(result.kernel)
    said = {
        part: values
        for insn_id, values in result.by_instruction.items()
        for part in parts.get(insn_id, (insn_id,))
    }
    return changed(result, kernel=result.kernel.expanded, by_instruction=said)


def _with_variables(result: Rearranged) -> Rearranged:
    """Return the result with the types and shapes of new variables as all kernels have them.

    Raises:
        InvalidArgument, MalformedExpression: if there is no such type or shape.
    """
    kernel = result.kernel
    given = (*kernel.arguments, *kernel.temporaries)
    if all(map(_is_normal, given)):
        return result
    arguments = tuple([v if _is_normal(v) else normalised(v) for v in kernel.arguments])
    temporaries = tuple([v if _is_normal(v) else normalised(v) for v in kernel.temporaries])
    return changed(result, kernel=kernel.copy(arguments=arguments, temporaries=temporaries))


def _is_normal(variable: object) -> bool:
    dtype = getattr(variable, "dtype", None)
    shape = getattr(variable, "shape", ())
    if not (dtype is None or isinstance(dtype, np.dtype)) or not isinstance(shape, tuple):
        return False
    extents = cast("tuple[object, ...]", shape)
    return all(isinstance(extent, int | ex.ExpressionNode) for extent in extents)


def _with_rules(result: Rearranged) -> Rearranged:
    """Let the reductions in substitution rules run over the new inames.

    What else a rule has to do with inames is said where it is invoked: see `ex.Invocation`.
    """
    kernel = result.kernel
    if result.by_instruction or not (result.values and kernel.substitutions):
        return result

    def moved(rule: SubstitutionRule) -> SubstitutionRule:
        reduced = walk.reduction_inames(rule.expression)
        values = {i: value for i, value in result.values.items() if i in reduced}
        body = at_new_instance(rule.expression, frozenset(), values, kernel.inames)
        return changed(rule, expression=body)

    rules = tuple(moved(rule) for rule in kernel.substitutions)
    return changed(result, kernel=kernel.copy(substitutions=rules))


def _with_separations(before: Kernel, result: Rearranged) -> Rearranged:
    """Return the result with the separations of the kernel before in terms of the new inames.

    What says something of an iname that is gone for good is left out.
    """
    kernel = result.kernel
    known = {*kernel.inames, *kernel.parameters}
    maps = [result.values, *result.by_instruction.values()]
    found: dict[Expression, None] = {}
    for condition in kernel.separations:
        forms = [condition]
        if condition in before.separations:
            forms += [walk.substitute(condition, values) for values in maps]
            if not walk.free_variables(condition).isdisjoint(result.values):
                forms.remove(condition)
        found.update(dict.fromkeys(f for f in forms if walk.free_variables(f) <= known))
    return changed(result, kernel=kernel.copy(separations=tuple(found)))


_BEFORE = "the kernel before the last step that was proved, or vouched for"


def _came_by_steps(kernel: Kernel, start: Kernel) -> bool:
    """Tell whether steps alone, each with its own proof, lead from `start` to `kernel`."""
    while kernel is not start:
        if _BEFORE not in kernel.memo:
            return False
        kernel = kernel.memo[_BEFORE]
    return True


def _with_history(result: Kernel, before: Kernel, step: Step) -> Kernel:
    # Steps that the transformation took inside are part of this one, so they are left out.
    object.__setattr__(result, "history", (*before.history, step))
    object.__setattr__(result, "original", before.original or before)
    return result


class _Interface:
    """The signature of a transformation, with a check for each argument."""

    def __init__(self, function: Callable[..., Kernel | Rearranged]) -> None:
        if not inspect.isroutine(function):
            raise no_such("transformation", "function", function, (FunctionType,))
        self.name = function.__name__
        mine = str(function.__module__).startswith("polygen.")
        self._help = f"polygen.{self.name}" if mine else self.name
        self._function = function
        parameters = dict(list(inspect.signature(function).parameters.items())[1:])
        # A transformation may take names of its choice, as in fix_parameters(knl, n=4).
        self._any_name = next((n for n, p in parameters.items() if p.kind is p.VAR_KEYWORD), None)
        self._parameters = {n: p for n, p in parameters.items() if n != self._any_name}
        self._by_position = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY]

    @functools.cached_property
    def _hints(self) -> dict[str, Any]:
        return get_type_hints(self._function, include_extras=True)

    @functools.cached_property
    def _checks(self) -> dict[str, Kind | None]:
        return {name: _kind(hint) for name, hint in self._hints.items() if name != "return"}

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
        by_name = dict(arguments)
        by_position = [by_name.pop(name) for name in self._by_position]
        return self._function(kernel, *by_position, **by_name)

    def bind(self, kernel: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if not isinstance(kernel, Kernel):
            raise no_such(self.name, "kernel", kernel, (Kernel,))
        given = self._by_name(args, kwargs)
        for name, value in given.items():
            kind = self._checks[name if name in self._parameters else str(self._any_name)]
            if kind is not None and not self._holds(kind, kernel, name, value):
                raise self._error(f"was given {name}={value!r}, which is not {kind.what}")
        return given

    def _holds(self, kind: Kind, kernel: Kernel, name: str, value: Any) -> bool:
        if value is None and type(None) in get_args(self._hints.get(name)):
            return True
        try:
            return kind.check(kernel, value)
        except MalformedTag as error:
            raise self._error(f"was given {name}={value!r}: {error.what}", error) from None

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        positional = [name for name, p in self._parameters.items() if p.kind is not p.KEYWORD_ONLY]
        if len(args) > len(positional):
            raise self._error(f"takes {len(positional)} positional arguments, not {len(args)}")
        given = dict(zip(positional, args, strict=False))
        for name, value in kwargs.items():
            if name not in self._parameters and self._any_name is None:
                raise self._error(
                    f"has no argument '{name}'", remedy=did_you_mean(name, self._parameters)
                )
            if name in given:
                raise self._error(f"was given '{name}' twice")
            given[name] = value
        for name, parameter in self._parameters.items():
            if name not in given:
                if parameter.default is parameter.empty:
                    raise self._error(f"needs the argument '{name}'")
                given[name] = parameter.default
        return {name: given[name] for name in (*self._parameters, *kwargs)}

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


_PLAIN: dict[object, Kind] = {
    bool: Kind("True or False", lambda _, v: isinstance(v, bool)),
    int: Kind("an integer", lambda _, v: isinstance(v, int) and not isinstance(v, bool)),
    str: Kind("a string", lambda _, v: isinstance(v, str)),
}


def _kind(annotation: object) -> Kind | None:
    """Return the check that an annotation asks for; ``X | None`` asks for that of ``X``."""
    for candidate in (annotation, *(a for a in get_args(annotation) if a is not type(None))):
        if candidate in _PLAIN:
            return _PLAIN[candidate]
        found = [m for m in getattr(candidate, "__metadata__", ()) if isinstance(m, Kind)]
        if found:
            return found[0]
    classes = classes_of(annotation)
    if not classes:
        return None
    return Kind(f"a {' or a '.join(in_words(classes))}", lambda _, v: isinstance(v, classes))
