"""Finding the types that nobody declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from polygen.analysis.access.accesses import references_by_name
from polygen.analysis.typing.call_arguments import check_known
from polygen.analysis.typing.expression_types import index_kind, node_type
from polygen.analysis.typing.functions import is_known
from polygen.analysis.typing.kinds import (
    Counter,
    Kind,
    LongCounter,
    counter_of,
    default_dtype,
    is_counter,
    is_index,
    join,
    same_kind,
)
from polygen.analysis.typing.type_checks import Located, check_functions_are_known, check_types
from polygen.errors import TypeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.changed import changed
from polygen.ir.dtype import DType, computed_in, integer_limits, is_integer
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import layout_expressions
from polygen.ir.remembered import per_kernel
from polygen.ir.verify import excerpt

_Variable = TypeVar("_Variable", bound=GlobalArg | ValueArg | TemporaryVariable)

# --- what is known from the start


@per_kernel
def sizes(kernel: Kernel) -> frozenset[str]:
    """Return the scalar arguments that bound loops, are extents or strides, or are in subscripts.

    They count things, so they are integers, and like inames they adapt to what they are combined
    with.
    """
    scalars = {a.name: a.dtype for a in kernel.arguments if isinstance(a, ValueArg)}
    scalars |= dict.fromkeys([size.name for size in kernel.derived_sizes])
    pending = {name for name, dtype in scalars.items() if dtype is None or is_integer(dtype)}
    found: set[str] = set()
    for domain in (*kernel.expanded.domains, kernel.assumptions):
        found.update(domain.parameters)
    for size in kernel.derived_sizes:
        found |= {size.name, *size.names}
    pending -= found
    for expr in _extents(kernel):
        if not pending:
            break
        names = walk.free_variables(expr)
        found |= names
        pending -= names
    return frozenset(n for n in found if n in scalars and n not in _not_integers(scalars))


def _not_integers(scalars: Mapping[str, DType | None]) -> frozenset[str]:
    return frozenset(n for n, t in scalars.items() if t is not None and not is_integer(t))


def _extents(kernel: Kernel) -> Iterable[Expression]:
    for array in (*kernel.arguments, *kernel.temporaries):
        if isinstance(array, GlobalArg | TemporaryVariable):
            yield from array.shape or ()
            yield from layout_expressions(array)
    for found in references_by_name(kernel).values():
        for reference in found:
            yield from reference.index


@per_kernel
def kinds(kernel: Kernel) -> Mapping[str, Kind]:
    """Return the kind of each name whose type is known: what `type_of` is told.

    Inames and sizes are counters, declared or not, so that the type of an expression is
    the same before and after types are inferred.
    """
    known: dict[str, Kind] = {
        v.name: computed_in(v.dtype) for v in kernel.variables.values() if v.dtype is not None
    }
    known.update(dict.fromkeys(sizes(kernel), Counter))
    known.update(dict.fromkeys(kernel.inames, Counter))
    known.update(dict.fromkeys(_wide_inames(kernel, known), LongCounter))
    return known


def _wide_inames(kernel: Kernel, known: Mapping[str, Kind]) -> set[str]:
    """Return the inames of loops that are bounded by data which 32 bits do not hold."""
    wide = {n for n, k in known.items() if isinstance(k, np.dtype) and not np.can_cast(k, np.int32)}
    found: set[str] = set()
    while new := {
        iname
        for domain in kernel.domains
        if not wide.isdisjoint(domain.parameters)
        for iname in domain.inames
        if iname not in found
    }:
        found |= new
        wide |= new
    return found


def infer_types(kernel: Kernel, index_dtype: Any = np.int32, *, complete: bool = True) -> Kernel:
    """Return the kernel with the type of every argument and temporary.

    A variable has the type of what is written to it, of several values the type that NumPy
    computes with them in.  Where that has no type of its own, as in ``out[i] = 0``, an array gets
    NumPy's default, a temporary that is an integer the type of indices.  Sizes get the type of
    indices.

    Parameters:
        kernel: the kernel; the same object comes back if all types are declared.
        index_dtype: the type of inames and subscripts.
        complete: else, what is not found stays without a type, and what needs it.

    Raises:
        TypeNotFound: if nothing tells the type of a variable.
        TypeMismatch: if an operation does not exist for its operands, or if a value is of another
            kind of number than the variable it is written to can hold.
        UnknownFunction: if a function is called that does not exist.
        WrongArity: if a function is called with the wrong number of arguments.
    """
    if complete:
        check_known(kernel)
    index = np.dtype(index_dtype)
    inference = _Inference(kernel.expanded, index, complete=complete)
    known = inference.run()
    settled = kernel.expanded.instructions
    if not complete:
        settled = tuple([insn for insn in settled if _is_settled(insn, known)])
    check_types(kernel.expanded, settled, known, inference.values)
    found = {n: default_dtype(k) for n, k in known.items()}
    found.update(dict.fromkeys(sizes(kernel), index))
    return kernel.copy(
        arguments=tuple([_filled(a, found) for a in kernel.arguments]),
        temporaries=tuple([_filled(t, found) for t in kernel.temporaries]),
    )


def _filled(variable: _Variable, found: Mapping[str, DType]) -> _Variable:
    if variable.dtype is not None or variable.name not in found:
        return variable
    filled: _Variable = changed(variable, dtype=found[variable.name])
    return filled


# The types of numbers that the usual one does not hold: NumPy's.
_WIDE = (np.dtype(np.int64), np.dtype(np.uint64))


def _holds(dtype: DType, number: int) -> bool:
    low, high = integer_limits(dtype)
    return low <= number <= high


class _Inference:
    """Finds the kinds of variables, those first that others need.

    Attributes:
        values: the kinds of the values that instructions write, by their ids and which of the
            values it is, where they were found at once.
    """

    def __init__(self, kernel: Kernel, index_dtype: DType, *, complete: bool) -> None:
        self._kernel = kernel
        self._complete = complete
        self._index_dtype = index_dtype
        counter = counter_of(index_dtype)
        known = kinds(kernel)
        self._known = {n: join(k, counter) if is_counter(k) else k for n, k in known.items()}
        # Those whose kind is sought, with what is found so far: None at first.
        self._found: dict[str, Kind | None] = {}
        self.values: dict[tuple[str, int], Kind] = {}

    def run(self) -> dict[str, Kind]:
        """Return the kind of every name."""
        unknown = [n for n in self._kernel.variables if n not in self._known]
        users: dict[str, list[str]] = {name: [] for name in unknown}
        needs = {name: self._needs(name) & users.keys() for name in unknown}
        for name, needed in needs.items():
            for other in needed:
                users[other].append(name)
        if not self._complete:
            unknown = _without(unknown, filter(self._is_open, unknown), users)
            users = {name: [u for u in users[name] if u in unknown] for name in unknown}
        count = {name: len(needs[name] - {name}) for name in unknown}
        ready = [name for name in unknown if not count[name]]
        for name in ready:
            self._settle([name], users)
            for user in users[name]:
                count[user] -= user != name
                if user != name and not count[user]:
                    ready.append(user)
        # What is left needs itself through others, or something that does.
        self._settle([name for name in unknown if count[name]], users)
        return self._known

    def _is_open(self, name: str) -> bool:
        """Tell whether nothing is written to `name` whose kind can be known."""
        values = self._values(name)
        called = (p for v in values for p in walk.subexpressions(v) if isinstance(p, ex.Call))
        return not values or not all(map(is_known, called))

    def _needs(self, name: str) -> frozenset[str]:
        """Return the names that the kind of `name` may depend on."""
        if self._complete and name not in self._kernel.writers:
            raise self._not_found(name)
        return NO_NAMES.union(*map(walk.free_variables, self._values(name)))

    def _values(self, name: str) -> list[Expression]:
        """Return what is written to `name`."""
        writers = self._kernel.writers.get(name, ())
        return [v for w in writers for t, v in w.pairs if ex.name_of(t) == name]

    def _settle(self, group: list[str], users: Mapping[str, list[str]]) -> None:
        """Find the kinds of variables that need only each other and what is known."""
        self._found = dict.fromkeys(group)
        complete = len(group) == 1 and group[0] not in users[group[0]]
        pending = list(group)
        while pending:
            name = pending.pop()
            old = self._found[name]
            new = old
            for writer in self._kernel.writers[name]:
                with Located(self._kernel, writer):
                    for position, (assignee, value) in enumerate(writer.pairs):
                        kind = self._partial_kind(value) if ex.name_of(assignee) == name else None
                        if kind is not None:
                            new = kind if new is None else join(new, kind)
                            if complete:
                                self.values[writer.id, position] = kind
            if not same_kind(new, old):
                self._found[name] = new
                pending += [user for user in users[name] if user in self._found]
        found = {name: kind for name, kind in self._found.items() if kind is not None}
        lost = [name for name in group if name not in found]
        if lost and self._complete:
            raise self._not_found(lost[0])
        for name in _without(group, lost, users):
            self._known[name] = self._final(name, found[name])
        self._found = {}

    def _final(self, name: str, kind: Kind) -> DType:
        if not is_index(kind):
            return default_dtype(kind)
        is_temporary = isinstance(self._kernel.variables[name], TemporaryVariable)
        own = kind.dtype if is_counter(kind) else self._index_dtype
        widest = max(own, self._index_dtype, key=lambda dtype: dtype.itemsize)
        usual = widest if is_temporary else default_dtype(kind)
        numbers = [value for value in self._values(name) if type(value) is int]
        wide_enough = (t for t in (usual, *_WIDE) if all(_holds(t, number) for number in numbers))
        return next(wide_enough, usual)  # the number is refused where it is printed

    def _partial_kind(self, node: Expression) -> Kind | None:
        """Return the kind of an expression as far as that of its variables is found."""
        if isinstance(node, ex.Variable) and node.name in self._found:
            return self._found[node.name]
        if isinstance(node, ex.Subscript):
            return self._element_kind(node)
        parts = [self._partial_kind(part) for part in walk.parts(node)]
        present = [part for part in parts if part is not None]
        if len(present) == len(parts):
            return node_type(node, present, self._known)
        # ``acc + a[i]`` is at least of the type of ``a``, whatever acc will be.
        if isinstance(node, ex.Sum | ex.Product | ex.Min | ex.Max) and present:
            return node_type(node, present, self._known)
        if isinstance(node, ex.If):
            return next((part for part in parts[1:] if part is not None), None)
        return None

    def _element_kind(self, node: ex.Subscript) -> Kind | None:
        """Return the kind of an element; what is in its subscript has no say in it."""
        names = NO_NAMES.union(*map(walk.free_variables, ex.index_tuple(node)))
        if not names.isdisjoint(self._found):
            known = {**self._known, **{n: k for n, k in self._found.items() if k is not None}}
            if not names <= known.keys():
                return self._partial_kind(node.aggregate)
        else:
            known = self._known
        element = self._partial_kind(node.aggregate)
        parts = [index_kind(index, known) for index in ex.index_tuple(node)]
        return None if element is None else node_type(node, [element, *parts], known)

    def _not_found(self, name: str) -> TypeNotFound:
        check_functions_are_known(self._kernel)  # that would be why
        users = references_by_name(self._kernel).get(name, ())
        reader = next(iter(users), None)
        variable = self._kernel.variables[name]
        what = "scalar argument" if isinstance(variable, ValueArg) else "variable"
        if reader is None:
            why = "no instruction uses it"
        elif vague := [r.insn.id for r in users if r.is_write and r.vague]:
            why = f"verbatim C writes it, in instruction '{vague[0]}', and says nothing of types"
        elif any(r.is_write for r in users):
            why = "what is written to it has no type that does not depend on it"
        else:
            why = f"instruction '{reader.insn.id}' reads it, and none writes it"
        return TypeNotFound(
            f"the type of the {what} '{name}' is not known: {why}",
            where=(variable.location or self._kernel.location)
            if reader is None
            else reader.insn.location,
            excerpt=None if reader is None else excerpt(self._kernel, reader.insn.id),
            remedy=f"declare it, or call add_dtypes(kernel, {{'{name}': ...}})"
            if isinstance(variable, TemporaryVariable)
            else f"declare it, call add_dtypes(kernel, {{'{name}': ...}}), or pass it: the type "
            "of an argument is found at the call",
        )


def _without(
    names: Iterable[str], lost: Iterable[str], users: Mapping[str, Iterable[str]]
) -> list[str]:
    """Return the names but those that are lost, and those that use what is."""
    pending = list(lost)
    gone = set(pending)
    while pending:
        new = [user for user in users[pending.pop()] if user not in gone]
        gone.update(new)
        pending += new
    return [name for name in names if name not in gone]


def _is_settled(insn: Instruction, known: Mapping[str, Kind]) -> bool:
    """Tell whether the types of all that an instruction is about are known."""
    parts = (p for node in insn.reads for p in walk.subexpressions(node))
    return known.keys() >= insn.read_names.union(insn.written_names) and all(
        is_known(p) for p in parts if isinstance(p, ex.Call)
    )
