"""Statements that call routines of numerical libraries: ``c = library("gemm", a, b, alpha=2)``.

First they become calls that name what they are given (`library_statement`, `library_call`); once
the shapes of arrays are known, calls that know their sizes and what they stand for
(`with_libraries`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.typing.call_arguments import inputs, outputs, with_declared_types
from polygen.errors import UnknownRoutine, UserError, WrongLibraryCall, did_you_mean
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall, is_whole, whole
from polygen.ir.show_expression import show_expression
from polygen.ir.slots import slot
from polygen.ir.verify import excerpt
from polygen.language.parser import located
from polygen.language.routine_table import ROUTINES, Form, Routine
from polygen.language.statement import Library, Statement

_REMEDY = "docs/reference/libraries.md says what each routine takes"


def library_statement(statement: Statement, library: Library) -> Statement:
    """Return a statement that calls a routine, with all of an array where its name stands.

    Raises:
        UnknownRoutine: if there is no such routine.
        WrongLibraryCall: if it is given what it does not take.
    """
    routine = ROUTINES.get(library.routine)
    if routine is None:
        raise located(
            UnknownRoutine,
            f"there is no routine '{library.routine}'",
            statement,
            max(0, statement.text.find(library.routine)),
            did_you_mean(library.routine, ROUTINES),
        )

    def refused(what: str, remedy: str = _REMEDY) -> UserError:
        return located(WrongLibraryCall, f"{library.routine} {what}", statement, 0, remedy)

    count = len(statement.values) - len(library.names)
    operands = list(routine.operands)
    least = len(operands) - bool(routine.optional)
    if not least <= count <= len(operands):
        raise refused(f"takes the arrays {', '.join(operands)}, and is given {count}")
    if len(statement.assignees) != len(routine.results):
        raise refused(
            f"assigns {len(routine.results)} arrays ({', '.join(routine.results)}), and is given "
            f"{len(statement.assignees)}"
        )
    sizes = {s for axes in (*routine.operands.values(), *routine.results.values()) for s in axes}
    for name in library.names:
        if name not in routine.numbers and name not in sizes:
            known = (*routine.numbers, *sorted(sizes), *routine.options)
            raise refused(f"takes no number '{name}'", did_you_mean(name, known))
    for name, word in library.options:
        allowed = routine.options.get(name)
        if allowed is None:
            raise refused(f"has no option '{name}'", did_you_mean(name, routine.options))
        if word not in allowed:
            raise refused(f'does not know {name}="{word}"', f"it is one of {', '.join(allowed)}")
    parts = [
        _part(node, {**routine.operands, **routine.results}[name], name, refused)
        for name, node in zip(
            (*operands[:count], *routine.results),
            (*statement.values[:count], *statement.assignees),
            strict=True,
        )
    ]
    given = (*statement.values[:count], *statement.assignees)
    return replace(
        statement,
        assignees=tuple(parts[count:]),
        values=(*parts[:count], *statement.values[count:]),
        library=replace(library, names=(*operands[:count], *library.names)),
        sweeps=any(isinstance(node, ex.SubArrayRef) for node in given),
        id_prefix=statement.id_prefix or library.routine,
    )


def _part(node: Expression, axes: Sequence[str], name: str, refused: Any) -> ex.SubArrayRef:
    if isinstance(node, ex.SubArrayRef):
        return node
    if isinstance(node, ex.Variable):
        return whole(node.name, len(axes))
    raise refused(
        f"takes an array for '{name}', and is given '{show_expression(node)}'",
        "write an array, or part of one: [i, j]: a[t, i, j]",
    )


def library_call(statement: Statement, library: Library, common: Mapping[str, Any]) -> LibraryCall:
    """Return the call that a statement is, of which sizes may not be known yet."""
    return LibraryCall(
        library.routine,
        statement.values,
        statement.assignees,
        names=library.names,
        options=tuple(sorted(library.options)),
        **common,
    )


def library_of(call: LibraryCall) -> Library:
    """Return what a call says beside its arguments."""
    return Library(call.function, tuple(call.numbers()), call.options)


# --- sizes


def with_result_shapes(kernel: Kernel) -> Kernel:
    """Return a kernel with shapes for arrays that routines write, where what they read has some.

    Temporaries that have none are global then: launches end where libraries are called.
    """
    for call in _calls(kernel):
        found = _Call(kernel, call).result_shapes()
        if found:
            kernel = kernel.copy(
                arguments=tuple(
                    [
                        replace(a, shape=found[a.name])
                        if isinstance(a, GlobalArg) and a.shape is None and a.name in found
                        else a
                        for a in kernel.arguments
                    ]
                ),
                temporaries=tuple(
                    [
                        replace(t, shape=found[t.name], address_space=AddressSpace.GLOBAL)
                        if not t.shape and t.name in found
                        else t
                        for t in kernel.temporaries
                    ]
                ),
            )
    return kernel


def with_libraries(kernel: Kernel) -> Kernel:
    """Return a kernel whose calls of libraries know their sizes, and what they stand for.

    Raises:
        WrongLibraryCall: if sizes are not known, or do not fit each other.
    """
    if not any(True for _ in _calls(kernel)):
        return kernel
    found = {call.id: _Call(kernel, call).resolved() for call in _calls(kernel)}
    kernel = kernel.copy(instructions=tuple([found.get(i.id, i) for i in kernel.instructions]))
    return with_declared_types(kernel)


def _calls(kernel: Kernel) -> Iterator[LibraryCall]:
    """Yield the calls of libraries that do not know their sizes."""
    yield from (c for c in kernel.calls if isinstance(c, LibraryCall) and c.callee is None)


@dataclass
class _Call:
    """A call that does not know its sizes."""

    kernel: Kernel
    call: LibraryCall

    def __post_init__(self) -> None:
        self._routine: Routine = ROUTINES[self.call.function]
        self._numbers = self.call.numbers()
        given = zip(self.call.names, self.call.arguments, strict=True)
        parts = {n: node for n, node in given if isinstance(node, ex.SubArrayRef)}
        results = zip(self._routine.results, self.call.results, strict=True)
        self._parts: dict[str, ex.SubArrayRef] = {
            n: self._of_rank(n, p) for n, p in (*parts.items(), *results)
        }
        self._settle_beta()
        self._form = self._found_form()

    def _of_rank(self, name: str, part: Any) -> ex.SubArrayRef:
        """Return part of an array with as many axes as that has, where a routine takes either."""
        array = ex.name_of(part)
        shape = self._shape(array)
        if name in self._routine.as_vector and is_whole(part) and shape and len(shape) == 1:
            return whole(array, 1)
        found: ex.SubArrayRef = part
        return found

    def _settle_beta(self) -> None:
        """Find out whether what a result is added to is read."""
        optional = self._routine.optional
        if not optional:
            return
        (result,) = self._routine.begins
        if is_zero(self._numbers.get("beta")):
            del self._numbers["beta"]
            self._parts.pop(optional, None)
        elif "beta" in self._numbers:
            self._parts.setdefault(optional, self._parts[result])
        elif optional in self._parts:
            self._numbers["beta"] = 1

    def _found_form(self) -> Form:
        routine = self._routine
        in_place = {
            operand: result
            for result, operand in routine.begins.items()
            if self._parts.get(operand) == self._parts[result]
        }
        own = [n for n in routine.operands if n in self._parts and n not in in_place]
        said = dict(self.call.options)
        options = {n: said.get(n, allowed[0]) for n, allowed in routine.options.items()}
        vectors = [n for n in routine.as_vector if n in self._parts and self._rank(n) == 1]
        self._in_place = in_place
        return Form(
            self.call.function,
            tuple(options.items()),
            tuple([n for n in routine.numbers if n in self._numbers]),
            (*own, *routine.results),
            frozenset(vectors),
        )

    def _rank(self, name: str) -> int:
        return len(self._parts[name].swept_inames)

    def _shape(self, array: str) -> tuple[Expression, ...] | None:
        variable = self.kernel.variables.get(array)
        if isinstance(variable, GlobalArg):
            return variable.shape
        return variable.shape or None if isinstance(variable, TemporaryVariable) else None

    def _extents(self) -> Iterator[tuple[str, str, Expression]]:
        """Yield, for axes of whole arrays, the size, the array and the extent."""
        for name, part in self._parts.items():
            shape = self._shape(ex.name_of(part)) if is_whole(part) else None
            axes = self._routine.axes(self._form, name)
            if shape is not None and len(shape) == len(axes):
                yield from zip(axes, [name] * len(axes), shape, strict=True)

    def result_shapes(self) -> dict[str, tuple[Expression, ...]]:
        """Return shapes of whole results that have none yet, by the names of the arrays."""
        sizes = {size: extent for size, _, extent in self._extents()} | self._numbers
        found: dict[str, tuple[Expression, ...]] = {}
        for name in self._routine.results:
            part, axes = self._parts[name], self._routine.axes(self._form, name)
            array = ex.name_of(part)
            if is_whole(part) and self._shape(array) is None and sizes.keys() >= {*axes}:
                found[array] = tuple([sizes[axis] for axis in axes])
        return found

    def resolved(self) -> LibraryCall:
        """Return the call with its sizes, and the kernel that it stands for."""
        callee: Kernel = slot("routine")(self._form)
        self._check_ranks()
        numbers = self._numbers | self._sizes()
        arrays = self._parts
        names = dict.fromkeys(self._routine.results, "")  # which no operand begins
        names |= {result: operand for operand, result in self._in_place.items()}
        given = [a.name for a in inputs(callee)]
        return self.call.copy(
            arguments=tuple([arrays[n] if n in arrays else numbers[n] for n in given]),
            results=tuple([arrays[a.name] for a in outputs(callee)]),
            names=tuple([names.get(n, n) for n in given]),
            options=self._options(),
            callee=callee,
        )

    def _options(self) -> tuple[tuple[str, str], ...]:
        usual = {name: allowed[0] for name, allowed in self._routine.options.items()}
        return tuple([(n, word) for n, word in self.call.options if word != usual[n]])

    def _check_ranks(self) -> None:
        for name, part in self._parts.items():
            axes = self._routine.axes(self._form, name)
            shape = self._shape(ex.name_of(part)) if is_whole(part) else None
            rank = self._rank(name) if shape is None else len(shape)
            if rank != len(axes):
                raise self._refused(
                    f"takes an array of {len(axes)} axes for '{name}', and is given "
                    f"'{_shown(part)}', which has {rank}"
                )

    def _sizes(self) -> dict[str, Expression]:
        """Return the sizes: those that are said, and those of whole arrays."""
        found: dict[str, Expression] = {}
        wanted = list(self._routine.size_names(self._form))
        from_array: dict[str, str] = {}
        for size, name, extent in self._extents():
            if size in self._numbers:
                continue
            if size in found and not _same_extent(self.kernel, found[size], extent):
                raise self._refused(
                    f"takes arrays of one size '{size}': '{self._array(from_array[size])}' has "
                    f"{show_expression(found[size])}, and '{self._array(name)}' "
                    f"{show_expression(extent)}",
                    "pass other arrays, or say which of an option transposes one; of parts of "
                    f"arrays, say the sizes: {size}=...",
                )
            found.setdefault(size, extent)
            from_array.setdefault(size, name)
        for size in wanted:
            if size not in found and size not in self._numbers:
                arrays = [n for n in self._parts if size in self._routine.axes(self._form, n)]
                raise self._refused(
                    f"has to know its size '{size}', and no shape says it",
                    f"say it, {size}=..., or declare the shape of '{self._array(arrays[0])}'",
                )
        return found

    def _array(self, name: str) -> str:
        return ex.name_of(self._parts[name])

    def _refused(self, what: str, remedy: str = _REMEDY) -> WrongLibraryCall:
        return WrongLibraryCall(
            f"{self.call.function} {what}",
            where=self.call.location,
            excerpt=excerpt(self.kernel, self.call.id),
            remedy=remedy,
        )


def _same_extent(kernel: Kernel, first: Expression, second: Expression) -> bool:
    """Tell whether two extents are equal for all sizes that are possible."""
    if first == second:
        return True
    differ = condition_set(ex.Comparison(first, "!=", second))
    return differ is not None and differ.intersect(known_parameters(kernel)).is_empty()


def _shown(part: ex.SubArrayRef) -> str:
    return ex.name_of(part) if is_whole(part) else show_expression(part)


def is_zero(node: Expression | None) -> bool:
    """Tell whether a number is written as 0."""
    return isinstance(node, int | float | complex) and node == 0
