"""`polygen.rename_callable`."""

from __future__ import annotations

from typing import overload

from polygen.errors import NameTaken, UnknownFunction, did_you_mean
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.public import public
from polygen.language.programs import TranslationUnit
from polygen.source import caller_location
from polygen.transforms.kernels import _renamed_callable


@overload
def rename_callable(
    program: Kernel, old_name: str, new_name: str | None = None, existing_ok: bool = False
) -> Kernel: ...
@overload
def rename_callable(
    program: TranslationUnit, old_name: str, new_name: str | None = None, existing_ok: bool = False
) -> TranslationUnit: ...
@public
def rename_callable(
    program: Kernel | TranslationUnit,
    old_name: str,
    new_name: str | None = None,
    existing_ok: bool = False,
) -> Kernel | TranslationUnit:
    r"""Give a function another name, wherever it is called.

    That is a kernel of the program, or a function of numbers (`register_callable`).  What it is
    called in the language of the target (`ScalarCallable.signatures`) stays.

    Kind: order and storage; nothing changes but names.

    Requires:
        1. The program has, or calls, a function of this name.
        2. The new name is not used yet; or `existing_ok` is True, and it is that of the same
           function.

    Parameters:
        program: a program, or a kernel with what it calls.
        old_name: the function's name.
        new_name: its name from now on; one that is free if not given.
        existing_ok: the new name may be that of another function that is the same.

    Before -> After:

        >>> import polygen as pg
        >>> twice = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k]", name="f")
        >>> data = [pg.GlobalArg("a", shape="n, 4"), pg.GlobalArg("out", shape="n, 4"), "..."]
        >>> rows = pg.make_kernel("{ [i]: 0<=i<n }", "[j]: out[i, j] = f([j]: a[i, j])", data)
        >>> program = pg.rename_callable(pg.merge([rows, twice]), "f", "twice")
        >>> [knl.name for knl in program]
        ['twice', 'polygen_kernel']
        >>> print(str(program).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [i] [j]: out[i, j] = twice([j]: a[i, j])  {id=f}

    Raises:
        UnknownFunction: if 1 does not hold.
        NameTaken, ReservedName, BuiltInFunction: if 2 does not hold, or if the new name cannot be
            that of a function.

    Source: Loo.py's transformation of this name.
    """
    kernels = [program] if isinstance(program, Kernel) else [*program.kernels]
    known = {name for kernel in kernels for name in _functions(kernel)}
    if old_name not in known:
        raise UnknownFunction(
            f"rename_callable: nothing here is called '{old_name}'",
            where=caller_location(),
            remedy=did_you_mean(old_name, known),
        )
    new = _free(kernels, old_name) if new_name is None else new_name
    if new in known and new != old_name and not existing_ok:
        raise _taken(new, "which another function has, too")
    changed = [_renamed_callable.rename_callable(kernel, old_name, new) for kernel in kernels]
    if isinstance(program, Kernel):
        return changed[0]
    found: dict[str, Kernel] = {}
    for kernel in changed:
        if found.setdefault(kernel.name, kernel) != kernel:
            raise _taken(new, "and there is another kernel of this name")
    tops = [new if name == old_name else name for name in program.entrypoints]
    return TranslationUnit(tuple(found.values()), frozenset(tops))


def _taken(name: str, why: str) -> NameTaken:
    return NameTaken(
        f"rename_callable: the new name would be '{name}', {why}",
        where=caller_location(),
        remedy="take a name that is not used yet; leave it out, and one is found",
    )


def _functions(kernel: Kernel) -> set[str]:
    """Return the names of a kernel, of what it calls, and of what these call."""
    found = {kernel.name, *(f.name for f in _renamed_callable.user_functions(kernel))}
    for call in kernel.calls:
        if isinstance(call, LibraryCall):
            continue
        found.add(call.function)
        found |= set() if call.callee is None else _functions(call.callee)
    return found


def _free(kernels: list[Kernel], like: str) -> str:
    name, count = like, 0
    while any(name in _functions(k) or name in k.names for k in kernels):
        name, count = f"{like}_{count}", count + 1
    return name
