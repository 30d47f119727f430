"""Puts kernels together: statements, loop domains and declarations in, checked kernel out.

The one place that does so.  `polygen.make_kernel` comes here with what it read from text,
`polygen.Builder` with what calls said, so that defaults and checks are the same for both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from polygen import errors
from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.integers.proving import proofs_are_on
from polygen.analysis.order.ignored_priorities import warn_of_ignored_priorities
from polygen.analysis.order.instruction_groups import warn_of_unused_groups
from polygen.analysis.typing.call_arguments import linked, unknown_kernels
from polygen.analysis.typing.type_checks import check_calls
from polygen.analysis.wellformed.call_requirements import check_calls_of_kernels
from polygen.analysis.wellformed.check import check_well_formed
from polygen.errors import InvalidArgument, UserError, did_you_mean
from polygen.ir.callables import ScalarCallable
from polygen.ir.domain import Domain
from polygen.ir.kernel import Kernel
from polygen.ir.later import Later
from polygen.ir.library_call import LibraryCall
from polygen.ir.names import check_function_name
from polygen.ir.options import TARGET_NAMES, Options, unknown_target
from polygen.ir.show import called_kernels
from polygen.ir.sizes import DerivedSize
from polygen.ir.substitution import Rules
from polygen.ir.verify import verify
from polygen.ir.verify_extents import check_room, may_be_settled_later
from polygen.language.arguments import check_rule_names, find_uses, make_variables
from polygen.language.assumptions import parse_assumptions
from polygen.language.domains import with_ends
from polygen.language.duplicates import without_left
from polygen.language.element_numbers import asks_numbers, with_element_numbers
from polygen.language.functions import with_functions
from polygen.language.initial_values import with_initial_values
from polygen.language.instructions import Written, make_instructions, name_statements, resolved
from polygen.language.kernel_data import Declared
from polygen.language.library_calls import with_libraries, with_result_shapes
from polygen.language.linear import without_linear_subscripts
from polygen.language.negative_subscripts import with_wrapped_subscripts
from polygen.language.of_nothing import with_something_to_reduce
from polygen.language.own_loops import with_own_loops
from polygen.language.priorities import read_priorities, with_priorities
from polygen.language.reduced import check_reduced
from polygen.language.reductions import with_kept_types
from polygen.language.shapes import with_shapes
from polygen.language.statement import Statement
from polygen.language.swept_parts import with_beginnings
from polygen.source import caller_location


@dataclass(frozen=True)
class KernelOptions:
    """The options of `polygen.make_kernel`, each read by itself.

    Attributes:
        fields: those of the kernel that are what they are.
        sizes: those that are products of others.
        called: the kernels that instructions may call, by name.
        functions: other functions.
        priorities: which loops are outside of which: inames, outermost first.
        sequential, keep_types, wrap_negative: as for `make_kernel`.
    """

    fields: Mapping[str, Any]
    sizes: tuple[DerivedSize, ...]
    called: Mapping[str, Kernel]
    functions: Mapping[str, Any]
    priorities: tuple[tuple[str, ...], ...]
    sequential: bool
    keep_types: bool
    wrap_negative: bool

    def defines(self, name: str) -> bool:
        """Tell whether a function, or a kernel that is called, has this name."""
        return name in self.functions or name in self.called


def read_options(  # noqa: PLR0913  (as many as `make_kernel` has)
    called: Mapping[str, Kernel],
    sizes: tuple[DerivedSize, ...] = (),
    /,
    *,
    name: str,
    assumptions: object = "",
    target: str | None = None,
    loop_priority: str | Iterable[str] | None = None,
    silenced_warnings: str | Iterable[str] = (),
    seq_dependencies: bool = False,
    keep_reduction_types: bool = False,
    wrap_negative: bool = False,
    functions: Mapping[str, ScalarCallable | Kernel] | None = None,
    well_formed: str = "now",
) -> KernelOptions:
    """Return the options of a kernel, checked.

    Parameters:
        called: kernels that instructions call, if these are given as such.
        sizes: those that are products of others.  What else there is, is as for
            `polygen.make_kernel`.

    Raises:
        InvalidArgument, ReservedName, MalformedDomain: if one is no such option.
    """
    location = caller_location()
    check_function_name(name)
    options = Options(silenced_warnings=warning_names(silenced_warnings))
    known = parse_assumptions(assumptions)
    given = _checked_functions(functions)
    kernels = {n: f for n, f in given.items() if isinstance(f, Kernel)}
    kernels = {**called, **kernels}
    for function in kernels:
        check_function_name(function)
    return KernelOptions(
        fields={
            "name": name,
            "assumptions": known,
            "target": _checked_target(target),
            "options": options,
            "later": _when(well_formed),
            "location": location,
        },
        sizes=sizes,
        called=kernels,
        functions={n: f for n, f in given.items() if n not in kernels},
        priorities=read_priorities(loop_priority),
        sequential=seq_dependencies,
        keep_types=keep_reduction_types,
        wrap_negative=wrap_negative,
    )


def assemble(
    written: Written, loops: tuple[Domain, ...], declared: Declared, options: KernelOptions
) -> Kernel:
    """Return the kernel that statements, loops and declarations say.

    Parameters:
        written: the statements, and the rules that stand between them.
        loops: the loop domains.
        declared: the arguments and temporaries that are declared.
        options: the others of the kernel.

    Raises:
        UserError: as `polygen.make_kernel` does.
    """
    inames = [iname for domain in loops for iname in domain.inames]
    names = {*declared.variables}.union(*[domain.parameters for domain in loops])
    statements, rules = resolved(written, inames, options.called, names)
    if asks_numbers(statements) and not options.defines("indexof"):
        said = _Parts(statements, rules, loops, declared, options)
        statements, declared = with_element_numbers(
            statements, declared, lambda: with_own_loops(said.kernel)
        )
    kernel = with_own_loops(_Parts(statements, rules, loops, declared, options).kernel)
    if not unknown_kernels(kernel):
        kernel = with_something_to_reduce(kernel)
    if options.wrap_negative:
        kernel = with_wrapped_subscripts(kernel)
    warn_of_unused_groups(kernel)
    warn_of_ignored_priorities(kernel)
    check_calls(kernel)
    return judged(kernel)


@dataclass(frozen=True)
class _Parts:
    """The parts of a kernel, from which it may be made more than once."""

    statements: Sequence[Statement]
    rules: Rules
    loops: tuple[Domain, ...]
    declared: Declared
    options: KernelOptions

    def kernel(self, own: Mapping[int, Sequence[str]]) -> Kernel:
        """Return the kernel.

        Parameters:
            own: by the positions of instructions, the inames that their reductions get to
                themselves.
        """
        options = self.options
        named, loops = name_statements(self.statements, self.rules, self.loops, own)
        rules = tuple(self.rules.values())
        statements = [one.statement for one in named]
        uses = find_uses(
            statements, (*loops, options.fields["assumptions"]), self.declared, options.sizes
        )
        check_rule_names(rules, uses)
        arguments, temporaries = make_variables(uses, self.declared)
        names = [t.name for t in temporaries]
        bounded, ends = with_ends(loops, {*uses.names, *names})
        kernel = Kernel(
            domains=bounded,
            derived_sizes=(*options.sizes, *ends),
            instructions=make_instructions(named, loops, names, sequential=options.sequential),
            arguments=arguments,
            temporaries=temporaries,
            substitutions=rules,
            **options.fields,
        )
        kernel = linked(kernel, options.called)
        for iname in kernel.inames:
            surrounding_inames(kernel, iname)
        kernel = with_beginnings(kernel, {d.id: d.statement for d in named})
        if options.keep_types:
            kernel = with_kept_types(kernel)
        kernel = without_linear_subscripts(kernel)
        if any(isinstance(call, LibraryCall) for call in kernel.calls):
            kernel = with_libraries(_with_known_shapes(kernel, self.declared))
        kernel = with_shapes(kernel, self.declared)
        kernel = with_priorities(with_initial_values(kernel), options.priorities)
        kernel = with_functions(without_left(kernel, statements), options.functions)
        verify(kernel)
        if not may_be_settled_later():
            check_room(kernel)
        check_reduced(kernel)
        return kernel


def _with_known_shapes(kernel: Kernel, declared: Declared) -> Kernel:
    """Return a kernel with the shapes that subscripts and routines of libraries tell."""
    return with_result_shapes(with_shapes(kernel, declared, guessable=True))


def check_made(kernel: Kernel) -> None:
    """Check that a kernel has one result, unless it calls what is not known yet.

    Raises:
        IllFormedKernel: if its result is not determined.
        OverlappingParts, CallAssumption: if it gives kernels what they are not made for.
    """
    if proofs_are_on() and not unknown_kernels(kernel):
        check_calls_of_kernels(kernel)
        check_well_formed(kernel)


def judged(kernel: Kernel) -> Kernel:
    """Return a kernel that was looked at: if its result is not determined, it says why.

    Raises:
        UserError: as `check_made` does, unless the kernel is one that is ordered later.
    """
    if kernel.later is None:
        check_made(kernel)
        return kernel
    if not proofs_are_on():
        return kernel
    found = kernel.copy(later=replace(kernel.later, open="", facts=None))
    try:
        check_made(found)
    except UserError as error:
        return kernel.copy(later=replace(kernel.later, open=error.what))
    return found


def determined(kernel: Kernel) -> Kernel:
    """Return a kernel whose result is determined, if that was left open and proofs are on.

    What relies on it asks here first.

    Raises:
        UserError: as `check_made` does.
    """
    if kernel.later is None or not kernel.later.open or not proofs_are_on():
        return kernel
    found = kernel.copy(later=replace(kernel.later, open="", facts=None))
    check_made(found)
    return found


def finished(kernel: Kernel) -> Kernel:
    """Return a kernel that code may be made of: it is determined, and lacks nothing.

    Raises:
        UserError: as `check_made` does.
        UnknownIname: if it was to get an order of loops that there are not.
        TagConflict: if two inames of an instruction were to be on one axis, and still are.
    """
    for each in (kernel, *called_kernels(kernel).values()):
        if each.later is not None:
            _check_wishes(each, each.later)
    return determined(kernel)


def _check_wishes(kernel: Kernel, later: Later) -> None:
    """Check that nothing waits for a step that was not taken."""
    for iname in (name for names in later.priorities for name in names):
        kernel.check_iname(iname)
    for iname, tag in later.tags:
        kernel.check_iname(iname)
        verify(kernel.copy(tags={**kernel.tags, iname: tag}))


def _when(well_formed: object) -> Later | None:
    """Return what a kernel is to get later, if it may get anything then."""
    if well_formed in ("now", "later"):
        return Later() if well_formed == "later" else None
    raise InvalidArgument(
        f"well_formed={well_formed!r} says nothing",
        where=caller_location(),
        remedy="say 'now', or 'later' for a kernel that other steps order",
    )


def _checked_functions(functions: object) -> dict[str, Any]:
    if functions is None:
        return {}
    if isinstance(functions, Mapping):
        return dict(cast("Mapping[str, Any]", functions))
    raise InvalidArgument(
        f"functions={functions!r} says no names of functions",
        where=caller_location(),
        remedy="pass a dictionary from names to functions: functions={'f': f}",
    )


def _checked_target(target: object) -> str | None:
    if target is None or (isinstance(target, str) and target in TARGET_NAMES):
        return target
    if isinstance(target, str):
        raise unknown_target(target)
    raise InvalidArgument(
        f"target={target!r} is no target",
        where=caller_location(),
        remedy="pass the name of one, such as 'opencl' or 'c'",
    )


def warning_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of classes of warnings as a tuple.

    Raises:
        InvalidArgument: if one is no class of warnings of polygen's.
    """
    found = (names,) if isinstance(names, str) else tuple(names)
    for name in cast("tuple[object, ...]", found):
        if not isinstance(name, str) or name not in _WARNINGS:
            raise InvalidArgument(
                f"there is no class of warnings {name!r}",
                where=caller_location(),
                remedy=did_you_mean(str(name), _WARNINGS),
            )
    return found


_WARNINGS = frozenset(
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.PolygenWarning)
)
