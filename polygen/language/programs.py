"""Several kernels together: `merge`, and who calls whom."""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from polygen.analysis.typing.call_arguments import linked
from polygen.errors import (
    CallCycle,
    InvalidArgument,
    NameTaken,
    UnknownFunction,
    did_you_mean,
)
from polygen.ir.in_notebook import InNotebook
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.offered import Offering
from polygen.ir.public import public
from polygen.ir.show import called_kernels, show_kernels
from polygen.ir.verify import verify
from polygen.language.kernel_assembly import judged
from polygen.language.shapes import with_shapes
from polygen.source import caller_location


@dataclass(frozen=True)
class TranslationUnit(Offering, InNotebook):
    """Kernels that call each other by name: what `merge` returns.

    Each kernel has in it what it calls, so that it can be transformed, run and printed alone.

    Attributes:
        kernels: those that are called before those that call them.
        entrypoints: the names of those that are called from outside.
    """

    kernels: tuple[Kernel, ...]
    entrypoints: frozenset[str]

    def __getitem__(self, name: str) -> Kernel:
        """Return the kernel of this name.

        Raises:
            UnknownFunction: if there is none.
        """
        found = {kernel.name: kernel for kernel in self.kernels}
        if name not in found:
            raise UnknownFunction(
                f"there is no kernel '{name}' here",
                where=caller_location(),
                remedy=did_you_mean(str(name), found),
            )
        return found[name]

    def __repr__(self) -> str:
        return f"TranslationUnit({', '.join(repr(kernel.name) for kernel in self.kernels)})"

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self.kernels)

    @property
    def default_entrypoint(self) -> Kernel:
        """The kernel that is called from outside.

        Raises:
            InvalidArgument: if there are several.
        """
        if len(self.entrypoints) != 1:
            names = ", ".join(f"'{name}'" for name in sorted(self.entrypoints))
            raise InvalidArgument(
                f"there are {len(self.entrypoints)} entry points: {names}",
                where=caller_location(),
                remedy="say which: unit['name'], unit(..., entrypoint='name'), or with_entrypoints",
            )
        return self[next(iter(self.entrypoints))]

    def with_entrypoints(self, names: str | Iterable[str]) -> TranslationUnit:
        """Return the same kernels with other entry points: names, or a text with commas.

        Raises:
            UnknownFunction: if there is no such kernel.
        """
        found = [n.strip() for n in names.split(",")] if isinstance(names, str) else _listed(names)
        return TranslationUnit(self.kernels, frozenset([self[name].name for name in found]))

    def with_kernel(self, kernel: Kernel) -> TranslationUnit:
        """Return these kernels with another one in the place of that of its name, or beside them.

        Those that call it call the new one.

        Raises:
            UserError: if what it calls, or what calls it, does not fit.
        """
        _check_kernel("with_kernel", kernel)
        others = [k for k in self.kernels if k.name != kernel.name]
        return TranslationUnit(_together([*others, kernel]), self.entrypoints)

    def with_step(self, old: Kernel, new: Kernel) -> TranslationUnit:
        """Return these kernels after a step from one of them to a new one.

        Parameters:
            old: the kernel that the step was taken on.
            new: the result; the step may have changed what it calls, too.

        Raises:
            UserError: if what calls one of them does not fit.
        """
        if new is old:
            return self
        before, program = called_kernels(old), self
        for name, callee in called_kernels(new).items():
            if callee != before.get(name):
                program = program.with_kernel(callee)
        return program.with_kernel(new)

    def __call__(self, /, queue: Any = None, *, entrypoint: str | None = None, **given: Any) -> Any:
        """Run an entry point, the only one unless it is said which; see `Kernel.__call__`."""
        kernel = self.default_entrypoint if entrypoint is None else self[entrypoint]
        return kernel(queue, **given)

    def executor(self, device: Any = None, *, entrypoint: str | None = None) -> Any:
        """Return what runs an entry point, the only one unless said; see `Kernel.executor`."""
        kernel = self.default_entrypoint if entrypoint is None else self[entrypoint]
        return kernel.executor(device)

    def __str__(self) -> str:
        return show_kernels(
            self.kernels[::-1], [f"ENTRY POINTS: {', '.join(sorted(self.entrypoints))}"]
        )


@public
def merge(translation_units: Sequence[object]) -> TranslationUnit:
    """Return several kernels as one program: those of one call the others by their names.

    Entry points are those of the programs that are merged, and kernels that no other one calls.

    Parameters:
        translation_units: kernels, and programs.

    Raises:
        NameTaken: if two kernels have one name.
        CallCycle: if kernels call each other in a circle.
        WrongArity, MalformedInstruction: if a call does not fit what it calls.
        IllFormedKernel: if the result of a kernel is not determined, now that it is known what it
            calls, unless proofs are switched off.

    >>> import polygen as pg
    >>> data = [pg.GlobalArg("a", shape="n, 4"), pg.GlobalArg("out", shape="n, 4"), "..."]
    >>> text = "[j]: out[i, j] = twice([j]: a[i, j])"
    >>> rows = pg.make_kernel("{ [i]: 0<=i<n }", text, data, name="rows")
    >>> twice = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k]", name="twice")
    >>> program = pg.merge([rows, twice])
    >>> program.default_entrypoint.name
    'rows'
    """
    kernels: list[Kernel] = []
    entrypoints: set[str] = set()
    if not isinstance(translation_units, list | tuple):
        translation_units = [translation_units]
    for part in translation_units:
        if isinstance(part, TranslationUnit):
            kernels += part.kernels
            entrypoints |= part.entrypoints
            continue
        found_here = _check_kernel("merge", part)
        kernels += [*called_kernels(found_here).values(), found_here]
    found = _together(kernels)
    called = {call.function for kernel in found for call in _own_calls(kernel)}
    tops = entrypoints | {kernel.name for kernel in found if kernel.name not in called}
    return TranslationUnit(found, frozenset(tops))


def _listed(names: object) -> list[str]:
    """Return names as a list; what is none is one that nothing has."""
    if isinstance(names, Iterable):
        return [str(name) for name in cast("Iterable[object]", names)]
    return [str(names)]


def _check_kernel(who: str, given: object) -> Kernel:
    """Return what was given, if it is a kernel."""
    if isinstance(given, Kernel):
        return given
    raise InvalidArgument(
        f"{who} was given {given!r}, which is no kernel",
        where=caller_location(),
        remedy="pass kernels: merge([first, second]), program.with_kernel(first)",
    )


def _together(kernels: Sequence[Kernel]) -> tuple[Kernel, ...]:
    """Return kernels that know what they call, those that are called first; each is looked at."""
    by_name: dict[str, Kernel] = {}
    for kernel in kernels:
        other = by_name.setdefault(kernel.name, kernel)
        if other != kernel:
            raise NameTaken(
                f"there are two kernels '{kernel.name}'",
                where=caller_location(),
                remedy="give one of them another name: make_kernel(..., name='other')",
            )
    found = link_all(by_name)
    for name, kernel in found.items():
        if kernel is not by_name[name]:
            verify(kernel)
            found[name] = judged(kernel)
    return tuple(found.values())


def link_all(kernels: Mapping[str, Kernel]) -> dict[str, Kernel]:
    """Return kernels that know what they call among these; those that are called first.

    Raises:
        CallCycle: if kernels call each other in a circle.
        WrongArity, MalformedInstruction: if a call does not fit what it calls.
    """
    calls = {
        n: [c.function for c in _own_calls(k) if c.function in kernels] for n, k in kernels.items()
    }
    sorter, order = graphlib.TopologicalSorter(calls), list[str]()
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        circle = error.args[1][::-1]
        raise CallCycle(
            "these kernels call each other in a circle: "
            + ", ".join(f"'{a}' calls '{b}'" for a, b in pairwise(circle)),
            where=caller_location(),
            remedy="a kernel cannot call itself, also not through others: write a loop",
        ) from None
    while sorter.is_active():
        # By name, so that the same kernels are one program however they were put together.
        ready = sorted(sorter.get_ready())
        sorter.done(*ready)
        order += ready
    found: dict[str, Kernel] = {}
    for name in order:
        found[name] = _linked(kernels[name], {n: found[n] for n in calls[name]})
    return found


def _own_calls(kernel: Kernel) -> list[KernelCall]:
    """Return the calls of kernels, those of routines of libraries left out."""
    return [call for call in kernel.calls if not isinstance(call, LibraryCall)]


def _linked(kernel: Kernel, callees: Mapping[str, Kernel]) -> Kernel:
    """Return a kernel that knows what it calls, also where its history starts from."""
    new = linked(kernel, callees)
    if new is kernel:
        return kernel
    new = with_shapes(new)
    if kernel.original is not None:
        original = with_shapes(linked(kernel.original, callees))
        object.__setattr__(new, "original", original)
    return new
