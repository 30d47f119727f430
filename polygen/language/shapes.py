"""The shapes of arrays that were declared without one."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polygen.analysis.access.footprint import GuessedShape, guess_shape
from polygen.analysis.integers.affine_forms import linear_form
from polygen.errors import ShapeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.show_expression import show_expression
from polygen.ir.sizes import open_ends
from polygen.ir.unknown_calls import given_to_unknown
from polygen.ir.verify import check_mentioned
from polygen.ir.verify_extents import may_be_settled_later
from polygen.language.arguments import in_order
from polygen.language.kernel_data import Declared
from polygen.language.layouts import with_order


def with_shapes(
    kernel: Kernel, declared: Declared | None = None, *, guessable: bool = False
) -> Kernel:
    """Return `kernel` with the shapes that are missing, guessed from the subscripts.

    An extent that only the array itself can tell becomes a new scalar argument.  Arrays of which
    parts are given to kernels that are not known yet are left without a shape until they are.

    Parameters:
        kernel: its arrays may have no shapes.
        declared: what the user declared; if it is not given, all arguments that there are.
        guessable: leave those out of which only routines of libraries may tell the shape.

    Raises:
        ShapeNotFound: if the subscripts of an array do not determine its shape.
        UnknownName: if a subscript is an iname whose loop the instruction is not in.
    """
    kernel = kernel.copy(temporaries=tuple([_of_numbers(kernel, t) for t in kernel.temporaries]))
    given = (*kernel.arguments, *kernel.temporaries)
    lacking = [v.name for v in given if _lacks_shape(kernel, v)]
    later = given_to_unknown(kernel)
    lacking = [name for name in lacking if name not in later]
    if guessable:
        lacking = [name for name in lacking if _is_guessable(kernel, name)]
    if not lacking:
        return kernel
    if not kernel.substitutions and not kernel.calls:
        for insn in kernel.instructions:
            check_mentioned(kernel, insn)
    unbounded = _without_ends(kernel)
    guesses = {name: _guessed(unbounded, name) for name in lacking}
    new = [ValueArg(name) for guess in guesses.values() for name in guess.new_parameters]
    arguments = tuple(
        [
            with_order(replace(a, shape=_of_argument(kernel, guesses[a.name].shape)))
            if isinstance(a, GlobalArg) and a.name in guesses
            else a
            for a in kernel.arguments
        ]
    )
    temporaries = tuple(
        [
            with_order(replace(t, shape=_of_temporary(kernel, t, guesses[t.name].shape)))
            if t.name in guesses
            else t
            for t in kernel.temporaries
        ]
    )
    if declared is None:
        declared = Declared({a.name: a for a in kernel.arguments}, complete=False)
    return kernel.copy(arguments=in_order((*arguments, *new), declared), temporaries=temporaries)


def _is_guessable(kernel: Kernel, name: str) -> bool:
    """Tell whether an array has subscripts outside of calls of libraries, and is no result."""
    if any(isinstance(w, LibraryCall) for w in kernel.writers.get(name, ())):
        return False
    others = (i for i in kernel.instructions if not isinstance(i, LibraryCall))
    accesses = (access for insn in others for access in insn.accesses)
    return any(isinstance(a, ex.Subscript) and ex.name_of(a) == name for a in accesses)


def _without_ends(kernel: Kernel) -> Kernel:
    """Return a kernel in which loops that conditions end are as long as they may be."""
    ends = open_ends(kernel.derived_sizes)
    if not ends:
        return kernel
    domains = [Domain(unflatten(project_out(d.flat, ends), d.inames)) for d in kernel.domains]
    return kernel.copy(domains=tuple(domains))


def _guessed(kernel: Kernel, name: str) -> GuessedShape:
    """Return the shape of an array: what it needs to hold, also for kernels that are called."""
    return guess_shape(kernel.expanded, name)


def _lacks_shape(kernel: Kernel, variable: Argument | TemporaryVariable) -> bool:
    if isinstance(variable, GlobalArg):
        return variable.shape is None
    return (
        isinstance(variable, TemporaryVariable)
        and not variable.shape
        and any(
            isinstance(element, ex.Subscript) and ex.name_of(element) == variable.name
            for insn in kernel.writers.get(variable.name, ())
            for element in _elements(insn)
        )
    )


def _elements(insn: Instruction) -> list[Expression]:
    """Return what an instruction writes: of parts of arrays, an element."""
    if not isinstance(insn, KernelCall):
        return list(insn.assignees)
    return [p.subscript if isinstance(p, ex.SubArrayRef) else p for p in insn.results]


def _of_argument(kernel: Kernel, shape: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return a shape in terms of the sizes that calls know, products in place of their names."""
    values: dict[str, Expression] = {}
    for size in kernel.derived_sizes:
        factors = [walk.substitute(factor, values) for factor in size.factors]
        values[size.name] = ex.product_of(*factors)
    return tuple([walk.substitute(extent, values) for extent in shape])


def _of_temporary(
    kernel: Kernel, temporary: TemporaryVariable, shape: tuple[Expression, ...]
) -> tuple[Expression, ...]:
    shape = _of_known_sizes(kernel, shape)
    constant = all(isinstance(extent, int) for extent in shape)
    has_room = temporary.address_space in (AddressSpace.GLOBAL, AddressSpace.AUTO)
    if constant or has_room or may_be_settled_later():
        return shape
    name, extents = temporary.name, ", ".join(show_expression(extent) for extent in shape)
    raise ShapeNotFound(
        f"the temporary '{name}' would have the shape ({extents}), which is not constant",
        where=temporary.location or kernel.location,
        remedy=f"declare it with a constant shape: TemporaryVariable('{name}', shape=...), or "
        "with address_space=pg.AddressSpace.GLOBAL, or make it an argument",
    )


def _of_numbers(kernel: Kernel, temporary: TemporaryVariable) -> TemporaryVariable:
    """Return a temporary whose extents are numbers, if the assumptions say these."""
    if temporary.address_space is AddressSpace.GLOBAL or temporary.dim_tags is not None:
        return temporary
    shape = _of_known_sizes(kernel, temporary.shape)
    return temporary if shape == temporary.shape else replace(temporary, shape=shape)


def _of_known_sizes(kernel: Kernel, shape: tuple[Expression, ...]) -> tuple[Expression, ...]:
    """Return a shape with numbers for the sizes that have one value by the assumptions."""
    known = kernel.assumptions.flat
    fixed: dict[str, Expression] = {}
    for name in kernel.assumptions.parameters:
        position = known.find_dim_by_name(isl.dim_type.param, name)
        value = known.plain_get_val_if_fixed(isl.dim_type.param, position)
        if value.is_int():
            fixed[name] = int(value.to_python())
    if not fixed:
        return shape
    values = (walk.substitute(extent, fixed) for extent in shape)
    forms = ((value, linear_form(value)) for value in values)
    return tuple([value if form is None else form.expression() for value, form in forms])
