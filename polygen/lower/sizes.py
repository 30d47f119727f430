"""Derived sizes: arguments until the loop program is validated, constants of functions then.

Quotients and remainders by sizes, which come with them, are computed once where they are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, ValueArg
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import DerivedSize, products
from polygen.lower.declare import mentioned
from polygen.lower.open_ends import without_open_ends
from polygen.lower.program import Declare, HardwareAxis, HostNode, Launch, LoopProgram
from polygen.lower.quotients import positive_divisors, with_quotients


def with_size_arguments(kernel: Kernel, index_dtype: DType) -> Kernel:
    """Return the kernel with its derived sizes as arguments."""
    if not kernel.derived_sizes:
        return kernel
    sizes = [ValueArg(size.name, index_dtype) for size in kernel.derived_sizes]
    return kernel.copy(arguments=(*kernel.arguments, *sizes))


def without_size_arguments(
    program: LoopProgram, kernel: Kernel, *, strips: bool = False
) -> LoopProgram:
    """Return a validated program that computes derived sizes itself, or has the host do so.

    Parameters:
        program: the program of a kernel that `with_size_arguments` has returned.
        kernel: that kernel.
        strips: whether loops are divided where quotients by sizes change: for targets with vectors.
    """
    if not kernel.derived_sizes and not positive_divisors(kernel):
        return program
    program = with_quotients(program, kernel, strips=strips)
    program = without_open_ends(program, kernel)
    return _Sizes(program, products(kernel.derived_sizes)).program()


class _Sizes:
    def __init__(self, program: LoopProgram, sizes: Iterable[DerivedSize]) -> None:
        self._program = program
        self._sizes = {size.name: size for size in sizes}
        self._arguments = tuple([a for a in program.arguments if a.name not in self._sizes])
        values: dict[str, Expression] = {}
        for size in self._sizes.values():  # each may mention those before it
            values[size.name] = walk.substitute(self._value(size), values)
        self._values = values

    def _value(self, size: DerivedSize) -> Expression:
        factors = [
            f if _is_plain(f, self._program.nonnegative) else ex.Max((f, 0)) for f in size.factors
        ]
        return factors[0] if len(factors) == 1 else ex.product_of(*factors)

    def program(self) -> LoopProgram:
        program = self._program
        temporaries = [
            replace(t, shape=tuple([self._on_host(e) for e in t.shape]))
            for t in program.global_temporaries
        ]
        return replace(
            program,
            arguments=self._arguments,
            global_temporaries=tuple(temporaries),
            host=tuple(map(self._node, program.host)),
        )

    def _on_host(self, node: Expression) -> Expression:
        return walk.substitute(node, self._values)

    def _node(self, node: HostNode) -> HostNode:
        if isinstance(node, Launch):
            return self._launch(node)
        lower, upper = map(self._on_host, (node.lower, node.upper))
        return replace(node, lower=lower, upper=upper, body=tuple(map(self._node, node.body)))

    def _launch(self, launch: Launch) -> Launch:
        axes = tuple(map(self._axis, launch.axes))
        names = mentioned(launch.body)
        declared = tuple(self._declared(names))
        starts = [walk.free_variables(first) for axis in axes for _, first in axis.inames]
        names = names.union(mentioned(declared), *starts)
        passed = {a.name for a in launch.arguments if a.name not in self._sizes}
        sizes = {a.name for a in self._arguments if isinstance(a, ValueArg)}
        arguments: list[Argument] = [
            a for a in self._arguments if a.name in passed or (a.name in sizes and a.name in names)
        ]
        known = {a.name for a in self._arguments}
        arguments += [a for a in launch.arguments if a.name in passed - known]
        return Launch(launch.name, tuple(arguments), axes, (*declared, *launch.body))

    def _axis(self, axis: HardwareAxis) -> HardwareAxis:
        """Return an axis in terms of what is passed: its indices come before what is declared."""
        inames = tuple([(iname, self._on_host(first)) for iname, first in axis.inames])
        return replace(axis, size=self._on_host(axis.size), inames=inames)

    def _declared(self, names: frozenset[str]) -> Iterator[Declare]:
        """Yield the sizes that a launch computes: those that it mentions, and what these need."""
        needed = set(names)
        for size in reversed(self._sizes.values()):
            if size.name in needed:
                needed |= size.names
        for name, size in self._sizes.items():
            if name in needed:
                value = self._value(size)
                yield Declare(name, self._program.index_dtype, initial=value, constant=True)


def _is_plain(node: Expression, nonnegative: frozenset[str]) -> bool:
    """Tell whether a factor is plainly never negative."""
    if isinstance(node, ex.Sum | ex.Product):
        return all(_is_plain(child, nonnegative) for child in node.children)
    if isinstance(node, ex.FloorDiv):
        parts = (node.numerator, node.denominator)
        return all(_is_plain(part, nonnegative) for part in parts)
    if isinstance(node, ex.Variable):
        return node.name in nonnegative
    return isinstance(node, int) and node >= 0
