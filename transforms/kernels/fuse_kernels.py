"""`polygen.fuse_kernels`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, cast, overload

from polygen.errors import CannotProve, IllegalStep, InvalidArgument
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.language.programs import TranslationUnit, merge
from polygen.source import caller_location
from polygen.transforms.kernels import _fused_kernel

DataFlow: TypeAlias = Sequence[tuple[str, int, int]]


@overload
def fuse_kernels(
    kernels: Iterable[Kernel],
    suffixes: Sequence[str] | None = None,
    data_flow: DataFlow | None = None,
    *,
    unsafe: bool = False,
) -> Kernel: ...
@overload
def fuse_kernels(
    kernels: Iterable[Kernel | TranslationUnit],
    suffixes: Sequence[str] | None = None,
    data_flow: DataFlow | None = None,
    *,
    unsafe: bool = False,
) -> Kernel | TranslationUnit: ...
@public
def fuse_kernels(
    kernels: Iterable[Kernel | TranslationUnit],
    suffixes: Sequence[str] | None = None,
    data_flow: DataFlow | None = None,
    *,
    unsafe: bool = False,
) -> Kernel | TranslationUnit:
    """Make one kernel of several, which computes what these do one after the other.

    Loops over inames of one name become one loop: the iname means the same in all kernels.  What
    is to have a loop of its own, `rename_iname` gives another name before; `fuse_loops` makes one
    loop of two afterwards, shifted if need be.  A reduction over an iname whose loop it cannot
    share, and loops whose bounds are data, get inames of their own.

    Arguments of one name are one argument.  Temporaries, rules and ids of instructions belong to
    their kernel: of those that have one name, all but the first get another one.

    What one kernel writes and a later one uses, is an argument still.  `change_arg_to_temporary`
    makes a temporary of it, which `assignment_to_subst` computes anew where it is used, and, after
    that, `precompute` keeps in a scalar or a tile.

    Kind: order and storage.

    Requires:
        1. Two or more kernels, or programs of one entry point; a suffix for each.
        2. Of an argument that several have, all say the same, as far as they say something; they
           are for one target, have the same options, and assume what does not contradict.
        3. An iname that several have has the same values in them, together with the others that
           they share, and is tagged alike.
        4. One loop for each of these can hold the instructions of all.
        5. With these loops, every value is written and read as if the kernels ran one after the
           other.
        6. No verbatim C uses a temporary of which another kernel has the name.

    Parameters:
        kernels: in the order in which they would run, unless `data_flow` says otherwise.
        suffixes: for each kernel, what is added to the names of its temporaries, rules and inames
            that another kernel has, too.  If not given, a number is added where that is needed.
        data_flow: ``(name, from_kernel, to_kernel)`` for arguments that one of them writes and
            another one reads afterwards, by their positions.  A kernel that is listed later may
            so come first.  What else depends on what is found without it.

    Before -> After:

        >>> import polygen as pg
        >>> mul = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", name="mul")
        >>> add = pg.make_kernel("{ [i]: 0<=i<n }", "c[i] = b[i] + 1", name="add")
        >>> knl = pg.fuse_kernels([mul, add], data_flow=[("b", 0, 1)])
        >>> print(pg.generate_code(pg.add_dtypes(knl, {"a": "float32"}), "c"))
        void mul_and_add(float const *restrict a, float *restrict b, int const n, float *restrict c)
        {
            for (int i = 0; i < n; ++i) {
                b[i] = 2.0f * a[i];
                c[i] = b[i] + 1.0f;
            }
        }

    Raises:
        InvalidArgument: if 1 does not hold, or the data flow is not there.
        KernelsDiffer: if 2 does not hold.
        DomainsDiffer, TagConflict: if 3 does not hold.
        NotFusible: if 4 does not hold.
        IllegalStep, CannotProve: if 5 does not hold.
        VerbatimNotPossible: if 6 does not hold.

    Source: Loo.py's transformation of this name; Kennedy, McKinley, Maximizing loop parallelism
    and improving data locality via loop fusion and distribution, LCPC 1993.
    """
    parts = list(cast("Iterable[Any]", kernels))
    for part in parts:
        if not isinstance(part, Kernel | TranslationUnit):
            raise _invalid(f"{part!r} is no kernel", "pass several: fuse_kernels([first, second])")
    if not parts:
        raise _invalid("there are none", "pass several: fuse_kernels([first, second])")
    first, *others = [p if isinstance(p, Kernel) else p.default_entrypoint for p in parts]
    fused = first
    if others:
        fused = _with_others(first, others, suffixes, data_flow, unsafe=unsafe)
    if any(isinstance(part, TranslationUnit) for part in parts):
        return merge([fused])
    return fused


def _with_others(
    first: Kernel,
    others: Sequence[Kernel],
    suffixes: Sequence[str] | None,
    data_flow: DataFlow | None,
    *,
    unsafe: bool,
) -> Kernel:
    option: dict[str, Any] = {"unsafe": unsafe}  # which every transformation takes
    try:
        return _fused_kernel.fuse_kernels(
            first, _fused_kernel.Others(others), suffixes, data_flow, **option
        )
    except IllegalStep as error:
        error.remedy = f"{_APART}; fuse_loops then makes one loop of both, shifted if that is legal"
        raise
    except CannotProve as error:
        error.remedy = (
            f"{_APART}; or, if you know that this is not so, fuse_kernels(..., unsafe=True) takes "
            "the step and notes it in the kernel"
        )
        raise


_APART = "let one of the kernels have a loop of its own: rename_iname, before they are fused"


def _invalid(what: str, remedy: str) -> InvalidArgument:
    return InvalidArgument(
        f"fuse_kernels was given kernels of which {what}",
        where=caller_location(),
        remedy=remedy,
    )
