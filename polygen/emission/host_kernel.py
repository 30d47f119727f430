"""A kernel's code as a host sees it: arguments, layouts of arrays, checks.

All of it is in terms of the sizes; each kind of file prints it in its own language.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import islpy as isl

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import set_condition
from polygen.analysis.typing.index_type import INT64, USUAL, index_type
from polygen.analysis.typing.magnitude import MOST_FOR_INT32
from polygen.analysis.wellformed.all_obligations import obligations
from polygen.analysis.wellformed.check import obligations as accesses
from polygen.analysis.wellformed.obligations import Obligation
from polygen.errors import CannotEmit, InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, Array, GlobalArg, ImageArg, TemporaryVariable, ValueArg
from polygen.ir.domain import flat_names
from polygen.ir.dtype import DType
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, element_strides, nest, unit
from polygen.ir.library_call import LibraryCall
from polygen.ir.remembered import per_kernel
from polygen.ir.sizes import products
from polygen.lower.hidden import without_auto
from polygen.lower.program import HostLoop, HostNode, Launch
from polygen.pipeline import build_program
from polygen.runtime.arrays.inferred_sizes import size_names
from polygen.runtime.arrays.outputs import is_fully_written, must_be_passed, written_arrays
from polygen.runtime.arrays.separate_arrays import passed_arguments
from polygen.targets.programs.library_calls import IN_PYTHON
from polygen.targets.programs.program import DeviceFunction, Program

MOST_AXES = 8  # of an array, in the files for hosts


@dataclass(frozen=True)
class HostArray:
    """An array as a host sees it.

    Attributes:
        name: what the kernel calls it.
        dtype: the type of its elements.
        shape: its extents, in terms of the sizes.
        strides: how far neighbours along each axis are apart, in elements.
        offset: where the first element is in the memory that is passed, in elements.
        unit: the memory consists of so many elements each: those of a vector.
        storage: how many elements the memory has at least, beside those that there are.
        alignment: what the address has to be a multiple of, in bytes, if that is said.
        reads: whether it has to be filled before.
        writes: whether it is written.
        all_written: whether each element is.
        temporary: whether it is memory that the host provides, and nothing else.
        may_alias: whether it may overlap others.
        is_place: whether data in it decides which elements are touched: not any numbers will do.
    """

    name: str
    dtype: DType
    shape: tuple[Expression, ...]
    strides: tuple[Expression, ...]
    offset: Expression
    unit: int
    storage: Expression
    alignment: int | None
    reads: bool
    writes: bool
    all_written: bool
    temporary: bool
    may_alias: bool
    is_place: bool

    @property
    def shows_before(self) -> bool:
        """Whether what was in it before makes a difference: if only for what is not written."""
        return self.reads or not self.all_written

    @property
    def direction(self) -> str:
        """``"in"``, ``"out"``, ``"inout"`` or ``"temporary"``."""
        if self.temporary:
            return "temporary"
        return "in" * self.reads + "out" * self.writes


@dataclass(frozen=True)
class HostScalar:
    """A number that a host passes.

    Attributes:
        name: what the kernel calls it.
        dtype: its type.
        is_size: whether shapes, strides, loops or assumptions depend on it.
        is_hidden: whether it is a stride or an offset that the kernel leaves to the call.
    """

    name: str
    dtype: DType
    is_size: bool
    is_hidden: bool


@dataclass(frozen=True)
class HostKernel:
    """A kernel's code, and what a host has to know of it.

    Attributes:
        kernel: the kernel, with arguments for what is left to the call.
        program: its code.
        arguments: what is passed, in order.
        temporaries: the memory that comes after that.
        assumed: what has to hold of the sizes.
        idle: for which sizes nothing is executed; an extent may then be negative.
        largest: what the sizes, sign aside, have to be less than, if indices have 32 bits.
        places: the same for the places of elements.
        obligations: what has to hold of data.
    """

    kernel: Kernel
    program: Program
    arguments: tuple[HostArray | HostScalar, ...]
    temporaries: tuple[HostArray, ...]
    assumed: Expression
    idle: Expression
    largest: int | None
    places: int | None
    obligations: tuple[Obligation, ...]

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.name

    @property
    def target(self) -> str:
        """The name of its target."""
        return self.program.target.name

    @property
    def arrays(self) -> tuple[HostArray, ...]:
        """The arrays that are passed."""
        return tuple([a for a in self.arguments if isinstance(a, HostArray)])

    @property
    def scalars(self) -> tuple[HostScalar, ...]:
        """The numbers that are passed."""
        return tuple([a for a in self.arguments if isinstance(a, HostScalar)])

    @property
    def sizes(self) -> tuple[HostScalar, ...]:
        """Those of them that are sizes."""
        return tuple([s for s in self.scalars if s.is_size])

    @property
    def launches(self) -> tuple[tuple[DeviceFunction, tuple[HostLoop, ...]], ...]:
        """The functions that are launched, each with the loops on the host around it."""
        functions = {function.name: function for function in self.program.launches}
        found = _launches(self.program.loop_program.host, ())
        return tuple([(functions[launch.name], loops) for launch, loops in found])

    @property
    def flags(self) -> tuple[HostArray, ...]:
        """The temporaries that loops on the host ask: these end where one is 0."""
        if self.program.target.runs_host:  # such loops are in the code itself
            return ()
        launches = _launches(self.program.loop_program.host, ())
        runs = [loop.runs for _, loops in launches for loop in loops if loop.runs is not None]
        asked = NO_NAMES.union(*map(walk.free_variables, runs))
        return tuple([array for array in self.temporaries if array.name in asked])


def _launches(
    nodes: tuple[HostNode, ...], loops: tuple[HostLoop, ...]
) -> Iterator[tuple[Launch, tuple[HostLoop, ...]]]:
    for node in nodes:
        if isinstance(node, Launch):
            yield node, loops
        else:
            yield from _launches(node.body, (*loops, node))


def host_kernel(kernel: Kernel, target: str) -> HostKernel:
    """Generate a kernel's code, and find out what a host has to know of it.

    Raises:
        CannotEmit: if there are no files for such a kernel.
        UserError: the subclass that says why there is no code.
    """
    index_dtype = _index_type(kernel)
    program = build_program(kernel, target, index_dtype)
    _check_libraries(kernel, program)
    expanded = without_auto(kernel.expanded, index_dtype)
    dtypes = {a.name: a.dtype for a in program.arguments}
    arguments = tuple(
        [_passed(expanded, a, dtypes, kernel.variables) for a in passed_arguments(expanded)]
    )
    temporaries = tuple([_temporary(expanded, t) for t in program.loop_program.global_temporaries])
    names = [a.name for a in (*arguments, *temporaries)]
    if names != [a.name for a in program.arguments]:
        raise InternalError(f"the arguments of the code of '{kernel.name}' are not {names}")
    largest, places = (None, None) if index_dtype == INT64 else _limits(kernel)
    return HostKernel(
        expanded,
        program,
        arguments,
        temporaries,
        _condition(expanded.assumptions.flat),
        _condition(_idle(expanded)),
        largest,
        places,
        tuple(obligations(kernel)),
    )


def _check_libraries(kernel: Kernel, program: Program) -> None:
    if program.loop_program.libraries and not program.target.runs_host:
        routine = program.loop_program.libraries[0].routine
        raise CannotEmit(
            f"kernel '{kernel.name}' calls {routine} between launches, and files for target "
            f"'{program.target.name}' call no libraries",
            where=kernel.location,
            remedy="emit it for C, call the kernel from Python, or make loops of it: "
            f"inline_callable_kernel(kernel, '{routine}')",
        )
    for function in program.loop_program.libraries:
        if function.routine in IN_PYTHON:
            raise CannotEmit(
                f"kernel '{kernel.name}' calls {function.routine}, which polygen has from SciPy, "
                "as a function of Python's",
                where=kernel.location,
                remedy="make loops of it, inline_callable_kernel(kernel, "
                f"'{function.routine}'), or call a library between two kernels",
            )


# --- arguments


def _passed(
    kernel: Kernel, arg: Argument, dtypes: Mapping[str, DType | None], declared: Container[str]
) -> HostArray | HostScalar:
    dtype = dtypes[arg.name]
    if dtype is None:
        raise InternalError(f"argument '{arg.name}' has no type")
    if isinstance(arg, ValueArg):
        hidden = arg.name not in declared
        return HostScalar(arg.name, dtype, arg.name in size_names(kernel), hidden)
    if isinstance(arg, ImageArg):
        raise CannotEmit(
            f"kernel '{kernel.name}' takes '{arg.name}' as an image, and there are no files for "
            "hosts that make images",
            where=kernel.location,
            remedy=f"declare '{arg.name}' a GlobalArg",
        )
    writes = arg.name in written_arrays(kernel)
    found = _array(kernel, arg, dtype)
    return HostArray(
        **found,
        reads=must_be_passed(kernel, arg.name),
        writes=writes,
        all_written=writes and is_fully_written(kernel, arg.name),
        temporary=False,
        may_alias=arg.may_alias,
        is_place=bool(accesses(kernel)) and arg.name in _deciding(kernel),
    )


def _temporary(kernel: Kernel, variable: TemporaryVariable) -> HostArray:
    if variable.dtype is None:
        raise InternalError(f"temporary '{variable.name}' has no type")
    found = _array(kernel, variable, variable.dtype)
    return HostArray(
        **found,
        reads=False,
        writes=True,
        all_written=False,
        temporary=True,
        may_alias=False,
        is_place=False,
    )


@per_kernel
def _deciding(kernel: Kernel) -> frozenset[str]:
    """Return the names on which subscripts and bounds of loops depend, through temporaries too."""
    found = NO_NAMES.union(*(domain.parameters for domain in kernel.domains))
    for insn in kernel.instructions:
        if isinstance(insn, CInstruction | LibraryCall):
            found |= insn.read_names
        for access in insn.accesses:
            found = found.union(*map(walk.free_variables, ex.index_of(access)))
    more = found
    while more:
        writers = [i for i in kernel.instructions if not more.isdisjoint(i.written_names)]
        more = NO_NAMES.union(*(i.read_names for i in writers)) - found
        found |= more
    return found


def _array(kernel: Kernel, array: Array, dtype: DType) -> dict[str, Any]:
    shape = array.shape or ()
    if len(shape) > MOST_AXES:
        raise CannotEmit(
            f"array '{array.name}' has {len(shape)} axes; files for hosts have at most {MOST_AXES}",
            where=kernel.location,
            remedy="join_array_dims(kernel, ...) makes one of several",
        )
    inside = nest(array) if isinstance(array, TemporaryVariable) else None
    known = _derived(kernel)

    def resolved(node: Expression | Auto | None) -> Expression:
        return walk.substitute(_number(node), known)

    return {
        "name": array.name,
        "dtype": dtype,
        "shape": tuple(map(resolved, shape)),
        "strides": tuple(map(resolved, _strides(array))),
        "offset": resolved(array.offset) if isinstance(array, GlobalArg) else 0,
        "unit": unit(array),
        "storage": 0
        if inside is None
        else resolved(_product(unit(array), *(r for _, r in inside))),
        "alignment": array.alignment,
    }


def _derived(kernel: Kernel) -> dict[str, Expression]:
    """Return what the sizes are that nobody passes, in terms of those that somebody does."""
    found: dict[str, Expression] = {}
    for size in products(kernel.derived_sizes):
        found[size.name] = walk.substitute(size.value, found)
    return found


def _strides(array: Array) -> Sequence[Expression | Auto | None]:
    declared = element_strides(array)
    shape = array.shape or ()
    return declared or [_product(*shape[axis + 1 :]) for axis in range(len(shape))]


def _product(*factors: Expression) -> Expression:
    constant = prod(f for f in factors if isinstance(f, int))
    others = [f for f in factors if not isinstance(f, int)]
    kept = [constant, *others] if constant != 1 or not others else others
    return kept[0] if len(kept) == 1 else ex.product_of(*kept)


def _number(value: Expression | Auto | None) -> Expression:
    """Return a stride or an offset, of which arguments have been made and parts been taken."""
    if value is None or isinstance(value, Auto):
        raise InternalError("a stride that is left to the call")
    return value


def linear_terms(node: Expression) -> tuple[dict[str, int], int] | None:
    """Return an expression as multiples of sizes and a constant; None for one that is not."""
    form = linear_form(node)
    if form is None or not all(isinstance(term, str) for term in form.terms):
        return None
    return {str(term): factor for term, factor in form.terms.items()}, form.constant


# --- conditions


def _condition(flat: isl.Set) -> Expression:
    return True if flat.plain_is_universe() else set_condition(flat)


def _idle(kernel: Kernel) -> isl.Set:
    """Return the sizes for which each instruction is within a loop that is empty for sure."""
    sizes = size_names(kernel)
    empty: dict[str, isl.Set] = {}
    for domain in kernel.domains:
        filled = domain.flat
        for name in flat_names(filled):
            if name not in sizes:
                position = filled.find_dim_by_name(isl.dim_type.param, name)
                filled = filled.project_out(isl.dim_type.param, position, 1)
        empty |= dict.fromkeys(domain.inames, filled.complement())
    idle = isl.Set("{ : }")
    for insn in kernel.instructions:
        around = isl.Set("{ : 1 = 0 }")
        for iname in sorted(insn.within_inames):  # texts do not depend on sets' order
            around = around.union(empty[iname])
        idle = idle.intersect(around)
    return idle.coalesce()


def _index_type(kernel: Kernel) -> DType:
    """Return the type of indices: of 64 bits, too, if those of 32 would refuse usual sizes."""
    found = index_type(kernel)
    return found if found == INT64 else index_type(kernel, USUAL - 1)


def _limits(kernel: Kernel) -> tuple[int, int]:
    """Return what sizes, and places of elements, have to be less than for indices of 32 bits."""
    at_most = MOST_FOR_INT32 - 1
    while at_most > 1 and index_type(kernel, at_most) == INT64:
        at_most = (1 << (at_most.bit_length() - 1)) - 1
    places = at_most if index_type(kernel, 0, MOST_FOR_INT32 - 1) == INT64 else MOST_FOR_INT32 - 1
    return at_most + 1, places + 1
