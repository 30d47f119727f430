"""From a loop program to the text of a device program."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

import numpy as np

from polygen.errors import InternalError
from polygen.ir.array import Argument, ConstantArg, GlobalArg, ImageArg, TemporaryVariable, ValueArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.layout import vector_length
from polygen.ir.tags import GroupTag
from polygen.lower.calls import PartArg
from polygen.lower.program import (
    BlocksBegun,
    Declare,
    HardwareAxis,
    HostLoop,
    HostNode,
    Launch,
    LibraryFunction,
    LoopProgram,
)
from polygen.targets.expressions.helper_functions import (
    helper_functions,
    helpers_need_math,
    types_of_helpers,
)
from polygen.targets.expressions.typed_terms import SUM
from polygen.targets.lanes.lane_helpers import vector_helpers
from polygen.targets.languages.target import Target
from polygen.targets.programs.block_memory import in_blocks
from polygen.targets.programs.launches import (
    device_function,
    exchanged_in,
    launches_of,
    local_size_of,
    written_in,
)
from polygen.targets.programs.library_calls import (
    library_beginning,
    library_helpers,
    library_lines,
    written_arrays,
)
from polygen.targets.programs.nodes import hoist_local
from polygen.targets.programs.program import DeviceFunction, Program
from polygen.targets.programs.program_names import names_of, passed_for
from polygen.targets.programs.read_again import with_halves_read_again
from polygen.targets.programs.registers import with_registers
from polygen.targets.programs.shared_memory import (
    is_used_by_all,
    shared_bytes,
    shared_lines,
    stack_bytes,
)
from polygen.targets.programs.tables import table_lines
from polygen.targets.statements.aliases import aliases_of
from polygen.targets.statements.expression_printer import ExpressionPrinter
from polygen.targets.statements.loops import loop_head, together
from polygen.targets.statements.statement_lines import StatementPrinter
from polygen.targets.statements.statement_rules import statement_printer
from polygen.targets.statements.thread_teams import (
    condition_of_team,
    counters_of,
    is_serial,
    loops_of_team,
)
from polygen.targets.statements.threads import Threads

_WIDTH = 100  # longer heads of functions are broken into lines


def print_program(program: LoopProgram, target: Target) -> Program:
    """Return the device program for a loop program.

    Parameters:
        program: what to print; lowered for a target of this kind: with a grid if it has one.
        target: whose language it is.

    Raises:
        TypeNotSupported: if the target lacks a type that is needed.
        LiteralOutOfRange: if an integer is used at a type that cannot hold it.
        TypeMismatch: if an operation does not exist for its operands.
    """
    lowered, program = program, with_registers(program)
    if target.blocks_along is not None:
        program = in_blocks(program, target.blocks_along)
    for name, kind in program.dtypes.items():
        if isinstance(kind, np.dtype):
            target.type_name(kind, name)
    for argument in program.arguments:
        if isinstance(argument, ImageArg):
            target.image_type(argument)
    launches = tuple(launches_of(program.host))
    expressions = ExpressionPrinter(target, names_of(program, launches, target))
    own = frozenset(t.name for t in program.global_temporaries)
    printer = _FunctionPrinter(target, expressions, own, program.tables)
    temporaries = (t.as_argument() for t in program.global_temporaries)
    arguments = (*program.arguments, *temporaries)
    passed = passed_for(arguments)
    if target.runs_host:
        functions: tuple[DeviceFunction, ...] = (
            DeviceFunction(program.name, passed, local_bytes=stack_bytes(program.host)),
        )
        printer.host_function(program, arguments)
    else:
        functions = tuple([device_function(launch, program, target) for launch in launches])
        _print_launches(printer, zip(launches, functions, strict=True), program, target)
    libraries = program.libraries if target.runs_host else ()  # else the host calls them
    called = [_called(function, target, expressions) for function in program.functions]
    called += [_library_call(n, f, printer, expressions) for n, f in enumerate(libraries, 1)]
    begin = [*_registered(program, target), *library_beginning(libraries)]
    lines, helpers = _preamble(target, expressions)
    called_libraries = library_helpers(program) if target.runs_host else []
    texts = [*helpers, *called_libraries, *called, *printer.functions]
    if program.options.contract != "fast" and any(map(_FLOATS.search, [*begin, *texts])):
        begin.insert(0, target.type_lines["uncontracted"])
    if target.math_of_vectors is not None:
        lines += target.math_of_vectors(texts)
    source = "\n\n".join([*begin, *lines, *texts]) + "\n"
    return Program(target, source, functions, passed, lowered, _extensions(target, expressions))


# Where these are, products may be fused with sums; integers keep the widest vectors.
_FLOATS = re.compile("float|double|half|complex")


def _print_launches(
    printer: _FunctionPrinter,
    launches: Iterable[tuple[Launch, DeviceFunction]],
    program: LoopProgram,
    target: Target,
) -> None:
    """Print launches as functions of their own, but not those that the host calls libraries for."""
    for launch, function in launches:
        if not function.calls_library:
            head = target.function_head(local_size_of(launch), program.options.resident_groups)
            printer.kernel(launch, head, waits=function.waits)


def _registered(program: LoopProgram, target: Target) -> list[str]:
    """Return the texts that users want a source to begin with."""
    texts = sorted(p for f in (program, *program.functions) for p in f.preambles)
    return list(dict.fromkeys(text.strip("\n") for t, _, text in texts if t == target.name))


def _called(program: LoopProgram, target: Target, expressions: ExpressionPrinter) -> str:
    """Return a function that others of the source call; what it needs is noted with theirs."""
    own = ExpressionPrinter(target, names_of(program, list(launches_of(program.host)), target))
    printer = _FunctionPrinter(target, own, (), ())
    printer.host_function(program, program.arguments, f"{target.helper_prefix} void ")
    expressions.uses.add(own.uses)
    return printer.functions[0]


def _library_call(
    number: int,
    function: LibraryFunction,
    printer: _FunctionPrinter,
    expressions: ExpressionPrinter,
) -> str:
    """Return a function that calls a library."""
    dtype = expressions.element_type(function.dtype, None)
    parameters = printer.parameters(function.arguments, written_arrays(function))
    lines = [f"    {line}" for line in library_lines(number, function, dtype)]
    return _function(f"static inline void {function.name}", parameters, lines)


# --- functions


class _FunctionPrinter:
    """Prints the functions that the host calls."""

    def __init__(
        self,
        target: Target,
        expressions: ExpressionPrinter,
        own: Container[str],
        tables: Sequence[TemporaryVariable],
    ) -> None:
        self._target = target
        self._expressions = expressions
        self._own = own  # arrays that polygen allocates
        self._tables = tables
        self.functions: list[str] = []

    def kernel(self, launch: Launch, head: str, *, waits: bool) -> None:
        """Print a launch as a function of its own.

        Parameters:
            launch: the launch.
            head: what the function begins with.
            waits: whether it waits until the launches before it are over.
        """
        shared, body = hoist_local(launch.body)
        body = with_halves_read_again(body) if self._target.read_again else body
        self._expressions.uses.names.clear()
        self._expressions.set_aliases(aliases_of(launch))
        statements = statement_printer(self._target, self._expressions, shared)
        statements.block(body, 1)
        beginning = statement_printer(self._target, self._expressions)
        for axis in launch.axes:
            self._axis(beginning, axis)
        self._declare_tables(beginning)
        if shared_bytes(shared, self._target):
            for line in shared_lines(shared, self._target, self._expressions):
                beginning.line(1, line)
        else:
            for declaration in shared:
                beginning.line(1, beginning.declaration(declaration, initialized=False))
        if any(isinstance(node, BlocksBegun) for node in body):
            beginning.line(1, self._target.blocks_begin)
        if waits:
            self._expressions.uses.types.add("early")
            beginning.line(1, self._target.launch_begin)
        if beginning.lines:
            beginning.line(0, "")
        parameters = self.parameters(launch.arguments, written_in(body), exchanged_in(body))
        if self._target.shared_end and is_used_by_all(shared):
            statements.line(1, self._target.shared_end)
        lines = beginning.lines + statements.lines
        self.functions.append(_function(head + launch.name, parameters, lines))

    def _axis(self, statements: StatementPrinter, axis: HardwareAxis) -> None:
        letter = "g" if isinstance(axis.tag, GroupTag) else "l"
        assert self._target.hardware_index is not None
        # Of one index, compilers see what it is: subscripts in registers may depend on it.
        alone = axis.size == 1
        index = self._target.hardware_index(letter, axis.tag.axis)
        for iname, first in axis.inames:
            if iname not in self._expressions.uses.names:
                continue
            counter = self._expressions.counter_type
            if axis.size == 1:  # compilers do not all know that the index is 0
                only = self._expressions.index(first).text
                statements.line(1, f"{counter} const {iname} = {only};")
                continue
            start = "" if first == 0 else f" + {self._expressions.index(first).within(SUM + 1)}"
            cast = f"({counter}) " if start and self._target.unsigned_indices else ""
            value = self._expressions.index(first).text if alone else f"{cast}{index}{start}"
            statements.line(1, f"{counter} const {iname} = {value};")

    def _declare_tables(self, statements: StatementPrinter) -> None:
        for table in self._tables:
            if table.name in self._expressions.uses.names:
                for line in table_lines(table, self._target, self._expressions):
                    statements.line(1, line)

    def host_function(
        self, program: LoopProgram, arguments: tuple[Argument, ...], head: str | None = None
    ) -> None:
        """Print all launches, with the loops around them, as one function."""
        launches = tuple(launches_of(program.host))
        written = NO_NAMES.union(*(written_in(launch.body) for launch in launches))
        options = program.options
        statements = statement_printer(self._target, self._expressions, options=options)
        statements.threads = statements.threads or head is not None  # who calls it is not known
        statements.spaces |= {a.name: a.space for a in arguments if isinstance(a, PartArg)}
        if not (head is None and self._team(statements, program)):
            self._host_nodes(statements, program.host, 1)
        beginning = statement_printer(self._target, self._expressions)
        for argument in passed_for(arguments):
            if argument.name not in self._expressions.uses.names:
                beginning.line(1, f"(void) {argument.name};")
            elif isinstance(argument, GlobalArg) and argument.alignment is not None:
                assumed = self._target.assume_aligned
                beginning.line(1, assumed.format(argument.name, argument.alignment))
        self._declare_tables(beginning)
        if beginning.lines:
            beginning.line(0, "")
        head = (head or self._target.function_head((), 0)) + program.name
        parameters = self.parameters(arguments, written)
        self.functions.append(_function(head, parameters, beginning.lines + statements.lines))

    def _team(self, statements: StatementPrinter, program: LoopProgram) -> bool:
        """Print the program as what a team of threads executes; not if that is not worth it."""
        loops = loops_of_team(program.host, self._expressions.is_index)
        if self._target.team is None or not loops or program.libraries:
            return False
        threads = [Threads(together(statements, n)[0], self._expressions) for n in loops]
        counters = counters_of(program.host)
        condition = condition_of_team(threads, program.options.serial_below, counters)
        if condition is None:
            return False
        self._expressions.uses.team = statements.in_team = True
        statements.line(1, self._target.team_state)
        statements.line(1, self._target.team(condition))
        statements.line(1, "{")
        self._host_nodes(statements, program.host, 2)
        statements.line(1, "}")
        return True

    def _host_nodes(
        self, statements: StatementPrinter, nodes: tuple[HostNode, ...], depth: int
    ) -> None:
        for node in nodes:
            if isinstance(node, HostLoop):
                statements.line(depth, f"{loop_head(statements, node)} {{")
                self._host_nodes(statements, node.body, depth + 1)
                statements.line(depth, "}")
                continue
            if node.axes:
                raise InternalError(f"a grid in a program for target '{self._target.name}'")
            self._expressions.set_aliases({})
            # Launches may declare the same names: each then has a block of its own.
            alone = statements.in_team and is_serial(node)
            braces = alone or (len(nodes) > 1 and any(isinstance(n, Declare) for n in node.body))
            if alone:
                statements.line(depth, self._target.team_alone)
            if braces:
                statements.line(depth, "{")
            statements.block(node.body, depth + braces)
            if braces:
                statements.line(depth, "}")
            if alone:
                statements.line(depth, self._target.team_waits)

    def parameters(
        self,
        arguments: tuple[Argument, ...],
        written: frozenset[str],
        exchanged: frozenset[str] = NO_NAMES,
    ) -> list[str]:
        """Return the declarations of what a function takes.

        Parameters:
            arguments: in order.
            written: those that it writes.
            exchanged: those that other work items write meanwhile.
        """
        # One that may overlap others may overlap all that the caller passes.
        apart = not any(isinstance(a, GlobalArg) and a.may_alias for a in arguments)
        alone = passed_for(a for a in arguments if a.name not in exchanged)
        restricted = {a.name for a in alone if apart or a.name in self._own}
        changed = {part.name for part in passed_for(a for a in arguments if a.name in written)}
        return [self._parameter(a, changed, restricted) for a in passed_for(arguments)]

    def _parameter(
        self, argument: Argument, written: Container[str], restricted: Container[str]
    ) -> str:
        if argument.dtype is None:
            raise InternalError(f"argument '{argument.name}' has no type in a loop program")
        if isinstance(argument, ValueArg):
            type_name = self._expressions.variable_type(argument.dtype)
            return f"{type_name} const {argument.name}"
        if isinstance(argument, ImageArg):
            return f"{self._target.image_type(argument)} {argument.name}"
        vector = vector_length(argument)
        type_name = self._expressions.element_type(argument.dtype, vector)
        if isinstance(argument, PartArg):
            type_name = self._expressions.variable_type(argument.dtype)
        restrict = f"{self._target.restrict} " if argument.name in restricted else ""
        const = "" if argument.name in written else "const "
        qualifier = self._target.global_qualifier
        if isinstance(argument, ConstantArg):
            qualifier = self._target.constant_qualifier
        elif isinstance(argument, PartArg):
            qualifier = self._target.qualifiers[argument.space]
        return f"{qualifier}{type_name} {const}*{restrict}{argument.name}"


def _function(head: str, parameters: list[str], body: list[str]) -> str:
    line = f"{head}({', '.join(parameters) or 'void'})"
    if len(line) - line.rfind("\n") > _WIDTH:
        line = f"{head}(\n    " + ",\n    ".join(parameters) + ")"
    return "\n".join([line, "{", *body, "}"])


def _types(target: Target, expressions: ExpressionPrinter) -> frozenset[str]:
    """Return what the text uses of what a source may have to begin with."""
    uses = expressions.uses
    return types_of_helpers(target, uses.helpers) | uses.types


def _extensions(target: Target, expressions: ExpressionPrinter) -> frozenset[str]:
    """Return what the text uses of the language that not all devices have."""
    used = _types(target, expressions)
    return frozenset(
        name for key, names in target.extensions.items() if key in used for name in names
    )


def _preamble(target: Target, expressions: ExpressionPrinter) -> tuple[list[str], list[str]]:
    """Return what the source begins with, and helpers: as much of it as the functions use."""
    uses = expressions.uses
    used = _types(target, expressions) | {"always"}
    if uses.math or helpers_need_math(target, uses.helpers):
        used |= {"math"}
    helpers = helper_functions(target, uses.helpers) + vector_helpers(target, uses.vectors)
    if uses.team:
        used |= {"team"}
        helpers.append(target.helpers["team_waits"])
    helpers += [target.accumulation.strip().format(*u) for u in sorted(uses.accumulations)]
    lines = {target.type_lines[name] for name in used if name in target.type_lines}
    return ["\n".join(sorted(lines))] * bool(lines), [*helpers, *uses.preambles]
