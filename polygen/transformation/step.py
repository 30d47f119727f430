"""The decorator that makes a transformation of a function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar, overload

from polygen.analysis.integers.proving import limited_step, proofs_are_on, without_proofs
from polygen.analysis.order.dependency_relations import moved_relations
from polygen.analysis.order.ignored_priorities import warn_of_ignored_priorities
from polygen.analysis.order.reduction_statements import shares_reduction_loops
from polygen.analysis.values.sound_accesses import (
    is_sound,
    keeps_sound,
    note_sound,
    only_adds_types,
)
from polygen.analysis.wellformed.call_requirements import check_calls_of_kernels
from polygen.errors import CannotProve, TakenOnTrust
from polygen.ir.changed import changed
from polygen.ir.collection import without_collection
from polygen.ir.kernel import Kernel, Step
from polygen.ir.moved_inames import moved_inames
from polygen.ir.public import in_users_names, public
from polygen.ir.verify import verify
from polygen.ir.verify_extents import check_room
from polygen.language.kernel_assembly import determined
from polygen.language.programs import TranslationUnit
from polygen.proof import Rearranged, prove
from polygen.source import warn
from polygen.transformation.completed import completed, is_open, with_facts
from polygen.transformation.interface import Interface
from polygen.transformation.results import (
    expanded,
    under_its_ids,
    with_nests,
    with_rules,
    with_separations,
    with_variables,
)

_P = ParamSpec("_P")
_Function: TypeAlias = Callable[Concatenate[Kernel, _P], Kernel | Rearranged]
_Whole = TypeVar("_Whole", bound=Kernel | TranslationUnit)


class Transformation(Protocol[_P]):
    """A step under `transformation`: a function from kernel to kernel, or program to program."""

    __name__: str

    def __call__(self, kernel: _Whole, /, *args: _P.args, **kwargs: _P.kwargs) -> _Whole:
        """Return the new kernel, or the program with it."""
        ...


@overload
def transformation(function: _Function[_P]) -> Transformation[_P]: ...
@overload
def transformation(
    *, declared: bool = False, says_more: bool = False
) -> Callable[[_Function[_P]], Transformation[_P]]: ...
@public
def transformation(function: Any = None, *, declared: bool = False, says_more: bool = False) -> Any:
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
        says_more: the transformation adds order, tags, types, or facts, or says which loops an
            instruction is in.  A kernel whose result is not determined yet
            (``make_kernel(..., well_formed="later")``) takes it as part of how it is made; all
            other steps refuse such a kernel.

    A kernel with the option ``trust_data`` takes it like that where data decides.

    Raises:
        IllegalStep, CannotProve, NotTheSame: when a step is taken that cannot be proved.
        IllFormedKernel: when a step is taken that relies on a result, and none is determined.
        ProofLimit: when a step, or its proof, is too much work for isl.
    """
    if function is None:
        return functools.partial(_make_step, declared=declared, says_more=says_more)
    return _make_step(function, declared=declared, says_more=says_more)


# The step of polygen's own that is being taken: errors in the steps inside of it speak of that one.
_ASKED: ContextVar[str | None] = ContextVar("_ASKED", default=None)


def _make_step(
    function: Callable[..., Kernel | Rearranged], *, declared: bool, says_more: bool
) -> Any:
    interface = Interface(function)

    @_on_trust_of_data
    @functools.wraps(function)
    @in_users_names
    @without_collection
    def step(kernel: Any = None, /, *args: Any, unsafe: bool = False, **kwargs: Any) -> Any:
        if isinstance(kernel, TranslationUnit):
            old = interface.entry_point(kernel)
            return kernel.with_step(old, step(old, *args, unsafe=unsafe, **kwargs))
        arguments = interface.bind(kernel, args, kwargs)
        interface.check_unsafe(unsafe)
        kernel = kernel if says_more or unsafe else determined(kernel)
        # Whoever vouches for a step does so for the steps that it takes inside.
        proofs = without_proofs() if unsafe else nullcontext()
        name = _ASKED.get() or interface.name
        asked = _ASKED.set(name if interface.is_polygens else None)
        try:
            with limited_step(name, kernel), proofs:
                returned = interface.call(kernel, arguments)
        finally:
            _ASKED.reset(asked)
        with limited_step(name, kernel):
            result = with_rules(with_variables(interface.result(kernel, returned)))
            if result.kernel is kernel:
                return kernel
            result = _verified(kernel, result)
            start = kernel if result.restated is None else result.restated
            if unsafe:
                arguments["unsafe"] = True
            elif _is_kept(kernel, declared=declared) and not _came_by_steps(result.kernel, kernel):
                interface.check_start(result)
                result = _proved(name, start, result)
            inside = moved_inames(result.kernel.history[len(kernel.history) :])
            moved = {**inside, **result.values}
            new = _taken(
                kernel, result.kernel, Step(interface.name, tuple(arguments.items()), step, moved)
            )
            if _ASKED.get() is None:  # what steps take inside may be mended there
                again = functools.partial(_take, step, args, kwargs) if declared else None
                new = completed(new if unsafe else with_facts(kernel, new, again), _proved)
                warn_of_ignored_priorities(new, kernel)
            if keeps_sound(kernel.expanded, new) and only_adds_types(kernel, new):
                note_sound(new.expanded)
            if unsafe or (_is_kept(kernel, declared=declared) and _came_by_steps(start, kernel)):
                new.notes.before = kernel
            return new

    return step


def _verified(kernel: Kernel, result: Rearranged) -> Rearranged:
    """Return the result of a step if it fits together, with relations and separations moved."""
    result = changed(result, kernel=moved_relations(result.kernel, result.instances))
    if kernel.separations:
        result = with_separations(kernel, result)
    verify(result.kernel, kernel)
    check_room(result.kernel, kernel)
    return result


def _on_trust_of_data(step: Callable[..., Any]) -> Callable[..., Any]:
    """Have a step taken on the user's word where data decides, of kernels with this option."""

    @functools.wraps(step)
    def trusting(kernel: Any = None, /, *args: Any, unsafe: bool = False, **kwargs: Any) -> Any:
        try:
            return step(kernel, *args, unsafe=unsafe, **kwargs)
        except CannotProve as error:
            is_inside = _ASKED.get() is not None
            if unsafe or is_inside or not error.data_decides:
                raise
            if not (isinstance(kernel, Kernel) and kernel.options.trust_data):
                raise
            _warn_of_trust(kernel, error)
        return step(kernel, *args, unsafe=True, **kwargs)

    trusting.__dict__["__wrapped__"] = step.__dict__["__wrapped__"]  # the function, not the step
    return trusting


def _warn_of_trust(kernel: Kernel, error: CannotProve) -> None:
    if TakenOnTrust.__name__ not in kernel.options.silenced_warnings:
        warn(TakenOnTrust(f"{error.what} (taken on your word: the option trust_data is on)"))


def _take(step: Any, args: Any, kwargs: Any, kernel: Kernel) -> Kernel:
    taken: Kernel = step(kernel, *args, **kwargs)
    return taken


def _is_kept(kernel: Kernel, *, declared: bool) -> bool:
    """Tell whether a step is proved to keep the result of a kernel, which has one."""
    return proofs_are_on() and not (declared or is_open(kernel))


def _proved(name: str, start: Kernel, result: Rearranged) -> Rearranged:
    """Return the result of a step that is proved, with what it leaves open of nests decided."""
    if shares_reduction_loops(result.kernel):  # what these read is followed in one nest only
        result = with_nests(result)
    _prove(name, start, result)
    check_calls_of_kernels(result.kernel)
    return with_nests(result)


def _prove(name: str, start: Kernel, result: Rearranged) -> None:
    """Prove that a step keeps the meaning of a kernel, as its result says that it is to be done."""
    if result.computes_as is None:
        prove(name, under_its_ids(start, result).expanded, expanded(result))
        return
    compared = result.computes_as.expanded
    prove(name, start.expanded, Rearranged(compared))
    if is_sound(compared):
        note_sound(result.kernel.expanded)


def _came_by_steps(kernel: Kernel, start: Kernel) -> bool:
    """Tell whether steps alone, each with its own proof, lead from `start` to `kernel`."""
    while kernel is not start:
        if kernel.notes.before is None:
            return False
        kernel = kernel.notes.before
    return True


def _taken(old: Kernel, new: Kernel, taken: Step) -> Kernel:
    """Return the kernel of a step with this in its history, and in its claims if it is on trust."""
    is_claimed = dict(taken.arguments).get("unsafe", False)
    return _with_history(
        new.copy(claims=(*new.claims, f"{taken}")) if is_claimed else new, old, taken
    )


def _with_history(result: Kernel, before: Kernel, step: Step) -> Kernel:
    # Steps that the transformation took inside are part of this one, so they are left out.
    object.__setattr__(result, "history", (*before.history, step))
    object.__setattr__(result, "original", before.original or before)
    return result
