"""Kernels that are called become functions: what each is given, and with which types and strides.

A function is made of the kernel for what a call gives it: types, address spaces, and strides that
are numbers.  Calls that agree in these share one.  Analyses see the instructions that a call
stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import islpy as isl
import numpy as np

from polygen.analysis.expansion.inlining import parts_of_calls
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.order.dependency_relations import with_plain_dependencies
from polygen.analysis.typing.call_arguments import (
    check_known,
    check_part_type,
    declared_types,
    given_by,
)
from polygen.analysis.typing.explicit_types import with_explicit_types
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.index_arithmetic import is_arithmetic
from polygen.analysis.typing.inference import infer_types, kinds, sizes
from polygen.analysis.typing.kinds import Kind, can_assign, is_index, kind_name
from polygen.errors import FunctionNotPossible, TypeMismatch
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import (
    AddressSpace,
    Argument,
    Array,
    ConstantArg,
    GlobalArg,
    ImageArg,
    TemporaryVariable,
    ValueArg,
)
from polygen.ir.domain import Domain
from polygen.ir.dtype import DType, is_integer
from polygen.ir.empty import new_dict
from polygen.ir.expression import Expression
from polygen.ir.instruction import Barrier, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, Strided, constant_axes, element_strides
from polygen.ir.library_call import LibraryCall
from polygen.ir.show import called_kernels
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import is_on_axis
from polygen.ir.verify import excerpt
from polygen.lower.address import row_major_strides, simplify
from polygen.lower.lanes import with_lane_axes, with_vectors
from polygen.lower.library_functions import checked_library_call, number_type


@dataclass(frozen=True, slots=True, eq=False)
class PartArg(GlobalArg):
    """Part of a temporary, as a function gets it.

    Attributes:
        space: where the temporary is.
    """

    space: AddressSpace = AddressSpace.PRIVATE


@dataclass
class Functions:
    """The names of the functions of one program.

    Attributes:
        taken: names that mean something else in it.
        names: of each function, by what it is made of.
    """

    taken: frozenset[str]
    names: dict[Kernel, str] = field(default_factory=new_dict)

    @staticmethod
    def of(kernel: Kernel) -> Functions:
        """Return those of a program that has none yet."""
        kernels = (kernel, *called_kernels(kernel).values())
        own = frozenset(name for k in kernels for name in (*k.inames, *k.variables))
        return Functions(own | {kernel.name})

    def named(self, kernel: Kernel) -> Kernel:
        """Return what a function is made of, under a name of its own."""
        if kernel not in self.names:
            name, count = kernel.name, 0
            while name in self.taken or name in self.names.values():
                name, count = f"{kernel.name}_{count}", count + 1
            self.names[kernel] = name
        return kernel.copy(name=self.names[kernel])


def with_functions(kernel: Kernel, index_dtype: DType, functions: Functions) -> Kernel:
    """Return a kernel whose calls know the functions that they call, all types inferred.

    Parameters:
        kernel: without substitution rules.
        index_dtype: the type of loop counters and subscripts.
        functions: those of the program.

    Raises:
        UnknownFunction: if nothing says what a kernel is that is called.
        FunctionNotPossible: if one cannot become a function.
    """
    check_known(kernel)
    full = infer_types(kernel.expanded, index_dtype)
    parts = parts_of_calls(kernel)
    instructions = [
        _Maker(kernel, full, insn, index_dtype).call(functions, parts[insn.id])
        if isinstance(insn, KernelCall)
        else insn
        for insn in kernel.instructions
    ]
    return full.copy(instructions=tuple(instructions))


class _Maker:
    """Makes the function for one call, and says what that is given."""

    def __init__(self, kernel: Kernel, full: Kernel, call: KernelCall, index_dtype: DType) -> None:
        assert call.callee is not None  # or it would be unknown
        self._kernel, self._full, self._call = kernel, full, call
        self._callee: Kernel = call.callee.without_rules
        self._index_dtype = index_dtype
        self._given = given_by(call)
        self._element_type: DType | None = None
        if isinstance(call, LibraryCall):
            self._element_type = checked_library_call(kernel, full, call)
        self._arguments: list[tuple[Argument, Expression]] = []
        self._literals: dict[str, Expression] = {}
        self._weak: list[str] = []

    def call(self, functions: Functions, parts: tuple[str, ...]) -> KernelCall:
        """Return the call with its function, and the instructions that it stands for."""
        self._check()
        self._check_types()
        for argument in self._callee.arguments:
            if isinstance(argument, ValueArg):
                self._add_number(argument, self._given.scalars[argument.name])
            elif argument.name in self._given.arrays:
                self._add_array(argument, self._given.arrays[argument.name])
        function = with_lane_axes(functions.named(self._function()))
        if function.calls:
            function = with_functions(function, self._index_dtype, functions)
        if isinstance(self._call, LibraryCall):  # the library is called instead
            return self._made(function, parts)
        function = infer_types(with_plain_dependencies(function), self._index_dtype)
        function = with_explicit_types(function, self._index_dtype)
        return self._made(with_vectors(function), parts)

    def _made(self, function: Kernel, parts: tuple[str, ...]) -> KernelCall:
        call = self._call
        if isinstance(call, LibraryCall):
            call = call.copy(names=tuple([argument.name for argument, _ in self._arguments]))
        return call.copy(
            callee=function,
            arguments=tuple([value for _, value in self._arguments]),
            parts=tuple([self._full.instructions_by_id[i] for i in parts]),
        )

    def _function(self) -> Kernel:
        """Return the kernel that the function is made of."""
        callee = self._callee

        def with_literals(node: Expression) -> Expression:
            return walk.substitute(node, self._literals)

        silenced = {*self._full.options.silenced_warnings, *callee.options.silenced_warnings}
        known = callee.assumptions.flat
        for name in self._weak:  # so they are sizes, which adapt to what they are combined with
            if known.find_dim_by_name(isl.dim_type.param, name) < 0:
                count = known.dim(isl.dim_type.param)
                known = known.add_dims(isl.dim_type.param, 1)
                known = known.set_dim_name(isl.dim_type.param, count, name)
        return callee.copy(
            arguments=tuple([argument for argument, _ in self._arguments]),
            instructions=tuple([i.map_expressions(with_literals) for i in callee.instructions]),
            temporaries=tuple([t.in_space(AddressSpace.PRIVATE) for t in callee.temporaries]),
            assumptions=Domain(known),
            target=None,
            options=replace(self._full.options, silenced_warnings=tuple(sorted(silenced))),
        )

    def _refused(self, what: str, remedy: str | None = None) -> FunctionNotPossible:
        name = self._call.function
        return FunctionNotPossible(
            f"kernel '{name}' cannot become a function: {what}",
            where=self._call.location,
            excerpt=excerpt(self._kernel, self._call.id),
            remedy=remedy or self._inline(),
        )

    def _inline(self) -> str:
        """Return what to do, and to which kernel: a call may be in one that is called."""
        name, caller = self._call.function, self._kernel.name
        return f"inline it into '{caller}': inline_callable_kernel(kernel, '{name}')"

    def _check(self) -> None:
        callee = self._callee
        for iname, tag in callee.tags.items():
            if is_on_axis(tag):
                raise self._refused(f"its iname '{iname}' is tagged {tag}")
        for insn in callee.instructions:
            if isinstance(insn, LibraryCall):
                raise self._refused(f"it calls a library, '{insn.id}', for which launches end")
            if isinstance(insn, Barrier):
                raise self._refused(f"it has a barrier, '{insn.id}'")
        for temporary in callee.temporaries:
            if temporary.read_only:
                raise self._refused(f"it has a table of constants, '{temporary.name}'")
            space = callee.address_space(temporary.name)
            if space is not AddressSpace.PRIVATE:
                raise self._refused(f"its temporary '{temporary.name}' is {space.value}")

    def _check_types(self) -> None:
        for part, dtype in declared_types(self._call):
            known = self._full.array(ex.name_of(part)).dtype
            check_part_type(self._kernel, self._call, part, known, dtype)

    # --- numbers

    def _add_number(self, argument: ValueArg, value: Expression) -> None:
        name = argument.name
        if self._element_type is not None and name not in sizes(self._callee):
            dtype = number_type(self._call.function, self._element_type)
            argument = ValueArg(name, dtype)
            if isinstance(value, int | float | complex):
                value = ex.converted(dtype.name, value)
        kind = type_of(value, kinds(self._full))
        if argument.dtype is not None and not can_assign(kind, argument.dtype):
            raise TypeMismatch(
                f"the call '{self._call.id}' gives '{show_expression(value)}', of type "
                f"'{kind_name(kind)}', for '{name}', whose type is '{argument.dtype.name}'",
                where=self._call.location,
                excerpt=excerpt(self._kernel, self._call.id),
                remedy=f"convert it on purpose: {argument.dtype.name}({show_expression(value)})",
            )
        if name in sizes(self._callee):
            self._arguments.append((ValueArg(name, self._index_dtype), value))
        elif argument.dtype is not None:
            self._arguments.append((argument, _as_value(value, kind)))
        elif is_index(kind):
            self._weak.append(name)
            self._arguments.append((ValueArg(name, self._index_dtype), value))
        elif not isinstance(kind, type):
            self._arguments.append((ValueArg(name, kind), _as_value(value, kind)))
        elif not walk.free_variables(value):
            self._literals[name] = value
        else:
            self._refuse_weak(name, value, kind)

    def _refuse_weak(self, name: str, value: Expression, kind: Kind) -> None:
        shown = show_expression(value)
        raise self._refused(
            f"'{name}' is given '{shown}', a number without a type of its own",
            f"say which type it has: {'float64' if kind is float else 'complex128'}({shown})",
        )

    # --- parts of arrays

    def _add_array(self, argument: GlobalArg, part: ex.SubArrayRef) -> None:
        name = ex.name_of(part)
        array = self._full.array(name)
        if isinstance(array, ImageArg):
            raise self._refused(f"it is given '{name}', an image")
        if constant_axes(array):
            raise self._refused(f"it is given part of '{name}', which has axes tagged vec or sep")
        steps = [self._step(array, part, axis) for axis in part.swept_inames]
        taken = {a.name for a in self._callee.arguments}
        strides: list[Expression] = []
        more: list[tuple[Argument, Expression]] = []
        for position, step in enumerate(steps):
            if isinstance(step, int):
                strides.append(step)
                continue
            stride = self._new_name(f"{argument.name}_stride{position}", taken)
            strides.append(ex.Variable(stride))
            more.append((ValueArg(stride, self._index_dtype), step))
        said: dict[str, Any] = {
            "name": argument.name,
            "dtype": array.dtype,
            "shape": (0,) * len(strides),  # nobody asks: all that it touches was looked at
            "dim_tags": tuple(map(Strided, strides)),
            "may_alias": True,  # it may be part of what other parts are of
        }
        self._arguments += [(_argument(self._full, array, said), part), *more]

    def _new_name(self, like: str, taken: set[str]) -> str:
        name, count = like, 0
        while name in taken or name in self._callee.names:
            name, count = f"{like}_{count}", count + 1
        return name

    def _step(self, array: Array, part: ex.SubArrayRef, axis: str) -> Expression:
        """Return how far neighbours along an axis of a part are apart, in elements."""
        strides = element_strides(array) or row_major_strides(array.shape or ())
        terms: list[Expression] = []
        for index, stride in zip(ex.index_of(part.subscript), strides, strict=True):
            factor = _coefficient(index, axis)
            if factor is None:
                raise self._refused(
                    f"it is given '{show_expression(part)}', of which '{show_expression(index)}' "
                    f"is no multiple of '{axis}' and something else"
                )
            assert stride is not None
            assert not isinstance(stride, Auto)  # those became arguments
            if factor:
                terms.append(stride if factor == 1 else ex.product_of(factor, stride))
        if not terms:
            return 0
        return simplify(terms[0] if len(terms) == 1 else ex.sum_of(*terms))


def _as_value(node: Expression, kind: Kind) -> Expression:
    """Return a number that is passed and no size: integers say that they are of a type."""
    if not isinstance(kind, np.dtype) or not is_integer(kind) or not is_arithmetic(node):
        return node
    return ex.converted(kind.name, node)


def _argument(kernel: Kernel, array: Array, said: Mapping[str, Any]) -> GlobalArg:
    """Return an argument for part of an array."""
    if isinstance(array, ConstantArg):
        return replace(ConstantArg(said["name"]), **{**said, "may_alias": False})
    if isinstance(array, TemporaryVariable):
        space = kernel.address_space(array.name)
        if space is not AddressSpace.GLOBAL:
            return PartArg(**said, space=space)
    return GlobalArg(**said)


def _coefficient(index: Expression, name: str) -> int | None:
    """Return what an axis is multiplied with in a subscript; None if that is not all there is."""
    if name not in walk.free_variables(index):
        return 0
    form = linear_form(index)
    if form is not None:
        return _factor(form, name)
    if not isinstance(index, ex.Sum):
        return None
    factors = [_coefficient(child, name) for child in index.children]
    known = [factor for factor in factors if factor is not None]
    return sum(known) if len(known) == len(factors) else None


def _factor(form: LinearForm, name: str) -> int | None:
    if any(not isinstance(term, str) and name in term.numerator.names() for term in form.terms):
        return None
    return form.terms.get(name, 0)
