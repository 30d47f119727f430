"""Declarations of a `polygen.Builder`: sizes, scalars, arrays, temporaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.public import public, public_but
from polygen.language.arguments import names_in_extents
from polygen.language.builder.builder_arguments import Names, Place, target_of, values_of, words_of
from polygen.language.builder.draft import Draft, of_builder
from polygen.language.builder.open_blocks import place_here
from polygen.language.handles import Computed, Handle, VariableHandle, tree_of
from polygen.language.kernel_data import read_kernel_data
from polygen.language.statement import Statement


class VariableMethods(Draft):
    """The methods of `Builder` that declare variables."""

    @public
    @of_builder
    def size(self, like: str, *, location: Place = None) -> Handle:
        """Declare a size, an integer that the caller passes or that follows from the arrays'.

        Parameters:
            like: its name, if that can be had.
            location: its place.

        Raises:
            NameTaken: if there is an argument of this name.
        """
        return self.scalar(like, location=location)

    @public
    @of_builder
    def scalar(self, like: str, dtype: object = None, *, location: Place = None) -> Handle:
        """Declare a number that the caller passes.

        Parameters:
            like: its name, if that can be had.
            dtype: its type; None to find it.
            location: its place.

        Raises:
            NameTaken: if there is an argument of this name.
            InvalidArgument: if there is no such type.
        """
        with self._at(location):
            return self._declare(ValueArg(self._name_of_argument(like), dtype))

    @public
    @of_builder
    def array(
        self,
        like: str,
        dtype: object = None,
        shape: Any = None,
        *,
        location: Place = None,
        **layout: Any,
    ) -> VariableHandle:
        """Declare an array that the caller passes; ``x[i] = value`` then assigns to an element.

        Parameters:
            like: its name, if that can be had.
            dtype: the type of its elements; None to find it.
            shape: its extents: a tuple of numbers and sizes; None to find them from the subscripts.
            location: its place.
            layout: others of `GlobalArg`, such as ``order`` and ``strides``.

        Raises:
            NameTaken: if there is an argument of this name.
            InvalidArgument: if it cannot be declared so.
        """
        with self._at(location):
            made: Any = GlobalArg
            name = self._name_of_argument(like)
            return self._declare(made(name, dtype, shape, **layout))

    @public
    @of_builder
    def temporary(
        self,
        like: str,
        dtype: object = None,
        shape: Any = (),
        address_space: AddressSpace = AddressSpace.PRIVATE,
        *,
        location: Place = None,
    ) -> VariableHandle:
        """Return a new temporary, called `like` if that name is free.

        Parameters:
            like: what it is called.
            dtype: its type; None to find it from what is assigned.
            shape: its extents.
            address_space: who shares it.
            location: its place.

        Raises:
            InvalidArgument: if there is no such type, shape or space.
        """
        with self._at(location):
            made: Any = TemporaryVariable
            return self._declare(made(self.name(like), dtype, shape, address_space))

    @public
    @of_builder
    def declare(
        self, variable: Argument | TemporaryVariable, *, location: Place = None
    ) -> VariableHandle:
        """Declare an argument or a temporary, by its own name.

        What is not declared is an argument; its type and shape are found as `make_kernel` does.

        Raises:
            NameTaken: if a variable or an iname has this name.
            InvalidArgument, ReservedName: if it cannot be declared so.
        """
        with self._at(location):
            return self._declare(variable)

    def _declare(self, variable: Argument | TemporaryVariable) -> VariableHandle:
        declared = read_kernel_data([variable])
        self._check_new(declared.variables)
        self._variables[variable.name] = replace(
            variable, location=variable.location or place_here()
        )
        self._mentioned |= names_in_extents(declared)
        for name in declared.variables:
            self._owned.setdefault(name, name)
        known = next(iter(declared.variables.values()))
        of_truths = known is not None and known.dtype == np.bool_
        return VariableHandle(variable.name, self._assigned, of_truths=of_truths)

    def _assigned(self, target: Any, value: Any) -> None:
        """Add an instruction without options: ``x[i] = value``."""
        with self._at(None):
            self._add(Statement((target_of(target),), values_of(value, 1)))

    @staticmethod
    @public_but("axes")
    @of_builder
    def part(axes: Names, element: Any, extents: Mapping[str, Any] | None = None) -> Handle:
        """Return ``[j]: a[i, j]``, part of an array, for a kernel that is called.

        Parameters:
            axes: names for its axes.
            element: an element: a function of these, or a tree that mentions their names.
            extents: how long it is along some of them, as ``[j < 7]: a[i, j]`` says it.
        """
        names = words_of(axes)
        if callable(element) and not isinstance(element, ex.ExpressionNode | Handle):  # trees are
            element = element(*[Computed(ex.Variable(name)) for name in names])
        sizes = [(name, tree_of(size)) for name, size in (extents or {}).items()]
        return Computed(ex.SubArrayRef(names, tree_of(element), tuple(sizes)))
