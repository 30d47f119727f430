"""`polygen.diff_kernel`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, cast

from polygen.analysis.typing.call_arguments import unknown_kernels
from polygen.errors import InvalidArgument, NotDifferentiable, UserError
from polygen.ir.array import ValueArg
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.public import is_a
from polygen.language.kernel_assembly import check_made
from polygen.source import caller_location
from polygen.transformation import Kind, Name, is_one_of, to_names, transformation
from polygen.transforms.derivatives._derivative_draft import check_variable, refused
from polygen.transforms.derivatives._forward_mode import Directions, forward
from polygen.transforms.derivatives._product_reductions import WITH_ADJOINT, WITH_TANGENT, as_loops
from polygen.transforms.derivatives._reverse_mode import reverse
from polygen.transforms.inames.untag_inames import untag_inames
from polygen.transforms.kernels.infer_unknown_types import infer_unknown_types
from polygen.transforms.parallel_reductions.realize_reduction import realize_reduction


def _names(value: Any) -> tuple[str, ...]:
    return to_names(value) if isinstance(value, str) else tuple(value)


def _are_variables(kernel: Kernel, value: Any) -> bool:
    if not is_a(value, (Collection,)):
        return False
    given = cast("Collection[object]", value)
    if isinstance(value, str):
        given = to_names(value)
    return all(isinstance(name, str) and bool(kernel.variable(name).name) for name in given)


def _are_axes(_kernel: Kernel, value: Any) -> bool:
    if not is_a(value, (Collection,)):
        return False
    axes = cast("Collection[object]", value)
    return all(isinstance(a, int) and not isinstance(a, bool) and a >= 0 for a in axes)


_MODES = ("forward", "tangent", "reverse")
Arguments = Annotated[
    str | Collection[str], Kind("arguments: 'a, b' or a collection of them", _are_variables)
]
Axes = Annotated[Collection[int], Kind("numbers of axes, from 0", _are_axes)]
Mode = Annotated[str, Kind("'forward', 'tangent' or 'reverse'", is_one_of(_MODES))]


@transformation(declared=True)
def diff_kernel(
    kernel: Kernel,
    diff_outputs: Arguments,
    by: Arguments,
    diff_iname_prefix: Name = "diff_i",
    batch_axes_in_by: Axes = frozenset(),
    copy_outputs: Arguments = frozenset(),
    mode: Mode = "forward",
    atomic: bool = False,
) -> Kernel:
    r"""Make the kernel that computes the derivatives of what a kernel computes.

    *Forward*, as in Loo.py: the Jacobian of each output by one argument, ``z_dx``.  It has the axes
    of the output, then those of the argument: ``z_dx[i, k]`` is the derivative of ``z[i]`` by
    ``x[k]``.  Each element of `by` is a direction; loops over these are innermost.

    *Tangent*: the derivative along one direction, which is passed: from ``x_dot``, the direction in
    each argument of `by`, ``z_dot`` is computed, the Jacobian times that.

    *Reverse*: from ``z_bar``, a factor for each element of each output, ``x_bar`` is computed: the
    gradient of the sum of all outputs times their factors, the transposed Jacobian times these.
    The kernel runs as far as its values are needed, and then backwards.  A value that it had is
    read where it is still, else computed again in the iteration, if it is that of a scalar, else
    saved on the way, in global temporaries with an element for each iteration.

    Temporaries, recurrences, updates in place, predicates and subscripts that are data are
    followed by the chain rule.  A gather becomes a scatter in reverse, in loops that run one after
    the other: they are tagged, and split, afterwards.  What is needed several times is computed
    once; a tangent, and an adjoint, of a product or a minimum are as much work as that itself, up
    to a constant.

    Whole numbers and truth values have no derivative: what is computed by way of them
    (``floor(x)``, ``x < y``, a subscript) counts as constant.  Of ``if``, ``min`` and ``max``, that
    of the case that is taken; of several that are equal, the first.  ``abs`` has the derivative 0
    at 0.

    Kind: change of meaning and interface.

    Requires:
        1. `diff_outputs` and `by` are arguments of floating-point type, or of none that is known.
           The first are written, and each depends on one of the others at least; and the other way
           round.
        2. Whatever stands between is differentiable, and not verbatim C: functions of the table in
           ``polygen/analysis/typing/derivatives.py``; sums, products, minima and maxima, of these
           over one iname (but for tangents); of atomic updates, sums.
        3. Forward: one argument, all of whose axes can be run over: their extents are affine.
        4. Reverse: without tags, the loops do the same.  A value that is overwritten is in loops
           whose bounds are affine in the parameters.
        5. The result is well formed.

    Parameters:
        diff_outputs: what is differentiated.
        by: by what.
        diff_iname_prefix: how the names of the inames over directions begin; the number of the axis
            follows.
        batch_axes_in_by: axes of `by` along which all elements are one direction: elements of the
            output depend on those of `by` with equal subscripts there.  Forward only.
        copy_outputs: arguments that are computed as well, as the kernel does.
        mode: ``"forward"``, ``"tangent"`` or ``"reverse"``.
        atomic: whether what is added to adjoints of arguments that the kernel only reads, is added
            atomically: then loops over what is added may be parallel.  Reverse only.

    An argument that the kernel overwrites has one array for both: in ``u_dot``, or ``u_bar``, is
    what is passed before, and what is computed after.  Of an output of which elements are used, or
    written again, factors are used up as well.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "<> t = 2*x[i]\nz[i] = sin(t)", name="f")
        >>> knl = pg.add_dtypes(knl, {"x": "float64"})
        >>> print(pg.generate_code(pg.diff_kernel(knl, "z", "x"), "opencl"))
        #pragma OPENCL EXTENSION cl_khr_fp64 : enable
        <BLANKLINE>
        __kernel void __attribute__((reqd_work_group_size(1, 1, 1)))
        f(int const n, __global double const *restrict x, __global double *restrict z_dx)
        {
            for (int i = 0; i < n; ++i) {
                double const t = 2.0 * x[i];
                double const cos_value = cos(t);
                for (int diff_i0 = 0; diff_i0 < n; ++diff_i0) {
                    double const t_dx = i == diff_i0 ? 2.0 : 0.0;
                    z_dx[i * n + diff_i0] = cos_value * t_dx;
                }
            }
        }

    Raises:
        UnknownArgument: if there is no such argument.
        InvalidArgument: if an argument is of the wrong kind.
        NotDifferentiable: if 1 to 4 do not hold.
        IllFormedKernel: if 5 does not hold.

    Source: Griewank, Walther, Evaluating Derivatives, 2008, chapters 3 and 4; Loo.py's
    transformation of this name.
    """
    outputs, inputs = _names(diff_outputs), _names(by)
    _check(kernel, outputs, inputs, batch_axes_in_by, mode)
    if atomic and mode != "reverse":
        raise _invalid(
            f"mode='{mode}' has no updates that atomic=True could make atomic",
            "leave it out; it is for mode='reverse'",
        )
    copied = frozenset(_names(copy_outputs))
    plain = infer_unknown_types(kernel, expect_completion=False).expanded
    if mode == "reverse":
        new = _reversed(_one_after_the_other(plain), outputs, inputs, copied, atomic=atomic)
    else:
        axes = _axes(plain, inputs[0], batch_axes_in_by) if mode == "forward" else None
        plain = _written_out(plain, only_in_place=not axes)
        if not axes:
            plain = as_loops(plain, outputs, inputs, WITH_TANGENT)
        new = forward(plain, outputs, Directions(inputs, axes, diff_iname_prefix), copied)
    check_made(new)
    return new


def _reversed(
    kernel: Kernel,
    outputs: tuple[str, ...],
    inputs: tuple[str, ...],
    copied: frozenset[str],
    *,
    atomic: bool,
) -> Kernel:
    """Return the adjoint of a kernel without parallel loops."""
    written = as_loops(kernel, outputs, inputs, WITH_ADJOINT)
    if written is not kernel:
        try:
            return reverse(written, outputs, inputs, copied, atomic=atomic)
        except NotDifferentiable:
            pass  # what products are on the way cannot be saved; or it is refused below, too
    return reverse(kernel, outputs, inputs, copied, atomic=atomic)


def _one_after_the_other(kernel: Kernel) -> Kernel:
    """Return the kernel without parallel loops, and reductions that share loops written out.

    Raises:
        NotDifferentiable: if the loops do something else then.
    """
    try:
        plain = untag_inames(kernel, sorted(kernel.tags)) if kernel.tags else kernel
    except UserError as error:
        raise refused(
            f"in reverse, loops run one after the other; these cannot: {error.what}",
            "take the derivative first: what it returns can be tiled, tagged and prefetched, too",
            kernel,
        ) from error
    return _written_out(plain)


def _written_out(kernel: Kernel, *, only_in_place: bool = False) -> Kernel:
    """Return the kernel with those reductions written out that cannot have other loops.

    Parameters:
        kernel: the kernel.
        only_in_place: those alone whose instructions overwrite what they read.
    """
    sharing = [
        insn.id
        for insn in kernel.instructions
        if _reads_in_its_loop(kernel, insn)
        and not (only_in_place and insn.read_names.isdisjoint(insn.written_names))
    ]
    return realize_reduction(kernel, sharing) if sharing else kernel


def _reads_in_its_loop(kernel: Kernel, insn: Instruction) -> bool:
    """Tell whether a reduction of an instruction reads what is written in its loop."""
    inames = insn.reduction_inames
    return any(
        not inames.isdisjoint(writer.within_inames)
        for name in insn.read_names
        for writer in kernel.writers.get(name, ())
    )


def _axes(kernel: Kernel, by: str, batch_axes: Collection[int]) -> tuple[int, ...]:
    """Return the axes along which each element is a direction."""
    variable = kernel.variables[by]
    shape = () if isinstance(variable, ValueArg) else kernel.array(by).shape or ()
    if absent := sorted(set(batch_axes).difference(range(len(shape)))):
        raise _invalid(f"'{by}' has no axis {absent[0]}", f"it has {len(shape)}, counted from 0")
    return tuple([axis for axis in range(len(shape)) if axis not in batch_axes])


def _check(
    kernel: Kernel,
    outputs: tuple[str, ...],
    inputs: tuple[str, ...],
    batch_axes: Collection[int],
    mode: str,
) -> None:
    for names, what in ((outputs, "diff_outputs"), (inputs, "by")):
        if not names:
            raise _invalid(f"{what} names nothing", "name an argument")
        for name in names:
            check_variable(kernel, name, "of" if names is outputs else "by")
    scalars = [n for n in outputs if isinstance(kernel.variables[n], ValueArg)]
    if scalars:
        raise _invalid(f"'{scalars[0]}' is a scalar argument, and no output", "name an array")
    for name in sorted(unknown_kernels(kernel)):
        raise refused(
            f"nothing says what '{name}' computes, which '{kernel.name}' calls",
            "merge the program with that kernel first",
            kernel,
        )
    unwritten = [n for n in outputs if n not in kernel.expanded.writers]
    if unwritten:
        raise _invalid(f"'{unwritten[0]}' is no output: nothing writes it", "name an output")
    if mode == "forward" and len(inputs) > 1:
        raise _invalid(
            f"the Jacobian is taken by one argument, not by {', '.join(inputs)}",
            "take it by each of them; or the derivative along one direction, mode='tangent'",
        )
    if mode != "forward" and batch_axes:
        raise _invalid(
            "batch_axes_in_by says which directions there are, and one is passed",
            "leave it out; it is for mode='forward'",
        )


def _invalid(what: str, remedy: str) -> InvalidArgument:
    return InvalidArgument(f"diff_kernel: {what}", where=caller_location(), remedy=remedy)
