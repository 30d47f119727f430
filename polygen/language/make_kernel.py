"""`make_kernel`: from loop domains and instructions to a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
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
from polygen.errors import InvalidArgument, did_you_mean
from polygen.ir.callables import ScalarCallable
from polygen.ir.collection import without_collection
from polygen.ir.domain import Domain
from polygen.ir.instruction import Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.names import check_function_name
from polygen.ir.options import TARGET_NAMES, Options, unknown_target
from polygen.ir.public import is_a, public_but
from polygen.ir.verify import verify
from polygen.language.arguments import check_rule_names, find_uses, make_variables
from polygen.language.assumptions import parse_assumptions
from polygen.language.domains import parse_domains
from polygen.language.duplicates import without_left
from polygen.language.functions import with_functions
from polygen.language.initial_values import with_initial_values
from polygen.language.instructions import make_instructions, name_statements
from polygen.language.kernel_data import Declared, read_kernel_data
from polygen.language.library_calls import with_libraries, with_result_shapes
from polygen.language.linear import without_linear_subscripts
from polygen.language.of_nothing import with_something_to_reduce
from polygen.language.own_loops import with_own_loops
from polygen.language.priorities import with_priorities
from polygen.language.reduced import check_reduced
from polygen.language.reductions import with_kept_types
from polygen.language.shapes import with_shapes
from polygen.language.swept_parts import with_beginnings
from polygen.source import caller_location


@public_but("instructions", "target", "loop_priority", "functions")
@without_collection
def make_kernel(  # noqa: PLR0913  (as many as Loo.py has)
    domains: object,
    instructions: str | Iterable[str | Instruction | tuple[Any, ...]],
    kernel_data: Iterable[object] | None = None,
    *,
    name: str = "polygen_kernel",
    assumptions: object = "",
    target: str | None = None,
    loop_priority: str | Iterable[str] | None = None,
    silenced_warnings: str | Iterable[str] = (),
    seq_dependencies: bool = False,
    keep_reduction_types: bool = False,
    functions: Mapping[str, ScalarCallable | Kernel] | None = None,
) -> Kernel:
    """Return a kernel: instructions, each executed once for each point of its loop domain.

    Parameters:
        domains: the values of the inames, in isl's notation, as in
            ``"{ [i, j]: 0 <= i < n and 0 <= j < m }"``; a list of texts (or isl sets) for domains
            of their own.  Parameters such as ``n`` need no declaration; a domain may also mention
            inames of other domains, and temporaries.
        instructions: one a line, as in ``"out[i] = 2*a[i]"``, or a list of such texts.
            ``<> t = a[i]`` declares a temporary, ``<float32> t = a[i]`` one of that type.
            ``... lbarrier`` and ``... gbarrier`` are points at which the work items of a group, or
            all, wait for each other; ``... nop`` is one at which nobody does.
            ``c = library("gemm", a, b)`` calls BLAS: see docs/reference/libraries.md.
            Options follow in braces: ``id=name``; ``dep=a:b``, instructions that come before
            (patterns such as ``load_*`` are allowed; ``dep=*a:b``: these and no others, ``dep=*``:
            none); ``inames=i:j``, the loops that it is in; ``if=i < j``, a condition; and more.
            ``if c``, ``elif c``, ``else``, ``for i, j`` and ``with {dep=a, tags=t}`` begin blocks,
            which ``end`` closes.  All of this is in docs/reference/structure.md.
            ``f(x) := x*a[x]`` is a substitution rule: ``f(2*i)`` then stands for
            ``2*i*a[2*i]``.  Rules may mention inames and other rules; ``f$tag(x)`` tells some
            uses from others.  One without arguments, ``f := a[i]``, may be used as ``f``.
            An element may also be an `Instruction`, which is taken as it is; or an assignee and a
            value that are pymbolic's trees, ``(var("out")[i], 2*var("a")[i])``, with options as a
            third part, ``"id=name"``: see docs/reference/other_ways.md.
        kernel_data: arguments and temporaries: `GlobalArg`, `ConstantArg`, `ValueArg`,
            `TemporaryVariable`, or names.  None, or ``"..."`` in the list, has what is missing
            guessed: the types from the call, the shapes from the subscripts.
        name: of the generated function.
        assumptions: what is known of the parameters, as in ``"n >= 1 and n mod 4 = 0"``.  It is
            added that there is something to reduce by ``min``, ``max``, ``argmin`` and ``argmax``,
            where sizes alone decide that.
        target: ``"opencl"``, ``"cuda"`` or ``"c"``.
        loop_priority: which loops are outside of which, as in ``"i, j"``; or several such texts;
            None for no wish.  It decides where nothing else does: see `prioritize_loops`.
        silenced_warnings: names of warning classes that are not issued for this kernel.
        seq_dependencies: instructions come in the order in which they are written: each depends
            on the one before.
        keep_reduction_types: sums and products of integers and truth values have the type of
            what is added up or multiplied, instead of NumPy's 64 bits: ``sum(j, x)`` is
            ``sum<operand>(j, x)``.
        functions: functions that the instructions may call beside those that there are, by their
            names: see `ScalarCallable`; and kernels, which are inlined: see `make_function`.

    Raises:
        IllFormedKernel: if the result of the kernel is not determined, unless proofs are switched
            off: see `check_well_formed`.
        MalformedDomain, MalformedInstruction, ...: one class for each thing that can be wrong;
            all are a `UserError`.
    """
    location = caller_location()
    check_function_name(name)
    options = Options(silenced_warnings=warning_names(silenced_warnings))
    loops, known = parse_domains(domains), parse_assumptions(assumptions)
    instructions = _kept(instructions)
    given = _checked_functions(functions)
    called = {n: f for n, f in given.items() if isinstance(f, Kernel)}
    called = _in_instructions(instructions) | called
    for function in called:
        check_function_name(function)
    text = _Text(
        instructions=instructions,
        loops=loops,
        declared=read_kernel_data(kernel_data),
        called=called,
        functions={n: f for n, f in given.items() if n not in called},
        priority=loop_priority,
        sequential=seq_dependencies,
        keep_types=keep_reduction_types,
        fields={
            "name": name,
            "assumptions": known,
            "target": _checked_target(target),
            "options": options,
            "location": location,
        },
    )
    kernel = with_own_loops(text.kernel)
    if not unknown_kernels(kernel):
        kernel = with_something_to_reduce(kernel)
    warn_of_unused_groups(kernel)
    warn_of_ignored_priorities(kernel)
    check_calls(kernel)
    check_made(kernel)
    return kernel


@dataclass(frozen=True)
class _Text:
    """The arguments of `make_kernel`, each read by itself.

    Attributes:
        instructions, loops, declared: the parts of the kernel.
        called: the kernels that instructions may call.
        functions: other functions.
        priority, sequential, keep_types: as for `make_kernel`.
        fields: those of the kernel that are what they are.
    """

    instructions: Any
    loops: tuple[Domain, ...]
    declared: Declared
    called: Mapping[str, Kernel]
    functions: Mapping[str, Any]
    priority: str | Iterable[str] | None
    sequential: bool
    keep_types: bool
    fields: Mapping[str, Any]

    def kernel(self, own: Mapping[int, Sequence[str]]) -> Kernel:
        """Return the kernel.

        Parameters:
            own: by the positions of instructions, the inames that their reductions get to
                themselves.
        """
        named, rules, loops = name_statements(self.instructions, self.loops, self.called, own)
        statements = [one.statement for one in named]
        uses = find_uses(statements, (*loops, self.fields["assumptions"]), self.declared)
        check_rule_names(rules, uses)
        arguments, temporaries = make_variables(uses, self.declared)
        names = [t.name for t in temporaries]
        kernel = Kernel(
            domains=loops,
            instructions=make_instructions(named, loops, names, sequential=self.sequential),
            arguments=arguments,
            temporaries=temporaries,
            substitutions=rules,
            **self.fields,
        )
        kernel = linked(kernel, self.called)
        for iname in kernel.inames:
            surrounding_inames(kernel, iname)
        kernel = with_beginnings(kernel, {d.id: d.statement for d in named})
        if self.keep_types:
            kernel = with_kept_types(kernel)
        kernel = without_linear_subscripts(kernel)
        if any(isinstance(call, LibraryCall) for call in kernel.calls):
            kernel = with_libraries(with_known_shapes(kernel, self.declared))
        kernel = with_shapes(kernel, self.declared)
        kernel = with_priorities(with_initial_values(kernel), self.priority)
        kernel = with_functions(without_left(kernel, statements), self.functions)
        verify(kernel)
        check_reduced(kernel)
        return kernel


def with_known_shapes(kernel: Kernel, declared: Declared) -> Kernel:
    """Return a kernel with the shapes that subscripts and routines of libraries tell."""
    return with_result_shapes(with_shapes(kernel, declared, guessable=True))


def _kept(instructions: object) -> Any:
    """Return instructions that can be looked at more than once."""
    if isinstance(instructions, str | Instruction) or not is_a(instructions, (Iterable,)):
        return cast("Any", instructions)
    return list(cast("Iterable[object]", instructions))


def _in_instructions(instructions: object) -> dict[str, Kernel]:
    """Return the kernels that instructions call, if they are given as such, by name."""
    parts = cast("list[object]", instructions) if isinstance(instructions, list) else [instructions]
    calls = [part for part in parts if isinstance(part, KernelCall) and part.callee is not None]
    return {call.function: call.callee for call in calls}


def check_made(kernel: Kernel) -> None:
    """Check that a kernel has one result, unless it calls what is not known yet.

    Raises:
        IllFormedKernel: if its result is not determined.
        OverlappingParts, CallAssumption: if it gives kernels what they are not made for.
    """
    if proofs_are_on() and not unknown_kernels(kernel):
        check_calls_of_kernels(kernel)
        check_well_formed(kernel)


@public_but("instructions")
def make_function(
    domains: object,
    instructions: str | Iterable[str | Instruction | tuple[Any, ...]],
    kernel_data: Iterable[object] | None = None,
    *,
    name: str = "polygen_function",
    **options: Any,
) -> Kernel:
    r"""Return a kernel that other kernels call, on parts of their arrays.

    The call ``[j]: out[i, j] = f([j]: a[i, j], n)`` gives it what it reads as arguments (scalars,
    and arrays that it reads), and assigns what it writes, both in the order of ``kernel_data``.
    ``[j]: a[i, j]`` is the array ``x`` with ``x[j]`` being ``a[i, j]``; ``a`` alone is all of it.
    If ``j`` is an iname, the part begins where its loop does.
    An array that is read and written stands on both sides.  Types are those of what is passed.  In
    generated code it is a function; `inline_callable_kernel` puts its instructions in the call's
    place.

    Parameters:
        domains: as in `make_kernel`.
        instructions: as in `make_kernel`.
        kernel_data: as in `make_kernel`.
        name: of the kernel, for messages.
        options: others of `make_kernel`.

    Raises:
        UserError: as `make_kernel` does.

    >>> import polygen as pg
    >>> scale = pg.make_function("{ [k]: 0<=k<m }", "y[k] = s*x[k]", ["m", "s", "x", "y"])
    >>> knl = pg.make_kernel(
    ...     "{ [i]: 0<=i<n }",
    ...     "[j]: out[i, j] = scale(4, i, [j]: a[j, i])  {id=row}",
    ...     functions={"scale": scale},
    ... )
    >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
    [i] [j]: out[i, j] = scale(4, i, [j]: a[j, i])  {id=row}
    >>> knl = pg.inline_callable_kernel(knl, "scale")
    >>> print(str(knl).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
    [i, row_k] out[i, row_k] = i*a[row_k, i]  {id=row_insn}
    """
    return make_kernel(domains, instructions, kernel_data, name=name, **options)


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
