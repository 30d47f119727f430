"""`make_kernel`: from loop domains and instructions to a kernel."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polygen.ir.callables import ScalarCallable
from polygen.ir.collection import without_collection
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.public import public_but
from polygen.language.domains import parse_domains
from polygen.language.instructions import read_statements
from polygen.language.kernel_assembly import assemble, read_options
from polygen.language.kernel_data import read_kernel_data
from polygen.language.named_products import NamedProducts, used_names
from polygen.language.while_loops import ended_by_conditions


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
    wrap_negative: bool = False,
    functions: Mapping[str, ScalarCallable | Kernel] | None = None,
    well_formed: str = "now",
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
        wrap_negative: negative subscripts count from the end of their axis, as in NumPy: what may
            be negative in ``a[p[i]]`` becomes ``a[if(p[i] < 0, n + p[i], p[i])]``, of the extent
            ``n``.  Substitution rules are expanded then.
        functions: functions that the instructions may call beside those that there are, by their
            names: see `ScalarCallable`; and kernels, which are inlined: see `make_function`.
        well_formed: ``"now"``: that the result is determined is proved here.  ``"later"``: a kernel
            whose result is not determined is made nevertheless, and `print` says so.  Steps that
            say more of it (`add_dependency`, `prioritize_loops`, `add_barrier`, `assume`,
            `fix_parameters`, `add_dtypes`, ...) may follow; all others, calls and code refuse it
            until it is determined.  `prioritize_loops` may then name loops that are made later, and
            two inames of an instruction may be tagged alike until a step takes one out of it.

    Raises:
        IllFormedKernel: if the result of the kernel is not determined, unless proofs are switched
            off, or it may be later: see `check_well_formed`.
        MalformedDomain, MalformedInstruction, ...: one class for each thing that can be wrong;
            all are a `UserError`.
    """
    written = read_statements(instructions)
    declared = read_kernel_data(kernel_data)
    products = NamedProducts.beside(lambda: used_names(domains, assumptions, written, declared))
    loops = parse_domains(products.in_all(domains), ended_by_conditions(written.statements))
    known = products.in_all(assumptions)
    options = read_options(
        written.called,
        products.sizes,
        name=name,
        assumptions=known,
        target=target,
        loop_priority=loop_priority,
        silenced_warnings=silenced_warnings,
        seq_dependencies=seq_dependencies,
        keep_reduction_types=keep_reduction_types,
        wrap_negative=wrap_negative,
        functions=functions,
        well_formed=well_formed,
    )
    return assemble(written, loops, declared, options)


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
