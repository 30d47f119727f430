"""`polygen.Builder`: a kernel that calls put together, with places in another program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from polygen.ir.collection import without_collection
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.signature import Signature
from polygen.language.builder.block_methods import BlockMethods
from polygen.language.builder.builder_arguments import Place
from polygen.language.builder.definition_methods import DefinitionMethods
from polygen.language.builder.instruction_methods import InstructionMethods
from polygen.language.builder.reduction_methods import ReductionMethods
from polygen.language.builder.value_methods import ValueMethods
from polygen.language.instructions import Written
from polygen.language.kernel_assembly import KernelOptions, assemble, read_options
from polygen.language.kernel_data import read_kernel_data


class Builder(InstructionMethods, BlockMethods, ReductionMethods, DefinitionMethods, ValueMethods):
    r"""Makes a kernel by calls: for programs that write kernels.

    Loops, variables and instructions are added one by one, each with the place in a program that
    it comes from; errors show that place.  `kernel` then makes the kernel, with the checks of
    `make_kernel`.  Values are pymbolic's trees, numbers, or what Python's operators make of the
    handles that the methods return.  A ``location`` is a `SourceLocation`, or a tuple
    ``(file, line, column, end)``, whose last two may be left out.

    Parameters:
        location: the place of what has none of its own, and of the kernel; if not given, the line
            that calls.

    >>> import polygen as pg
    >>> b = pg.Builder()
    >>> n = b.size("n")
    >>> x, y = b.array("x", "float32", (n,)), b.array("y", "float32", (n,))
    >>> with b.loop("i", 1, n - 1) as i:
    ...     with b.when(x[i] > 0):
    ...         y[i] = x[i-1] + x[i+1]
    ...     with b.otherwise():
    ...         y[i] = 0
    >>> print(str(b.kernel()).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
    [i] y[i] = x[i - 1] + x[i + 1]  {id=insn, if=x[i] > 0}
    [i] y[i] = 0  {id=insn_0, if=not x[i] > 0}
    """

    @public
    def __init__(self, *, location: Place = None) -> None:
        super().__init__(location)

    @public
    @without_collection
    def kernel(self, name: str = "polygen_kernel", **options: Any) -> Kernel:
        """Return the kernel; more can be added after that, for another one.

        Parameters:
            name: of the generated function.
            options: others of `make_kernel`, but what it is made of.  ``loop_priority`` comes after
                the nests of the loops that were opened.

        Raises:
            UserError: as `make_kernel` does.
        """
        with self._at(None):
            said = self._checked_options(name, options)
            said = replace(said, priorities=(*self._blocks.nests, *said.priorities))
            self._blocks.check_ends()
            loops = tuple(dict.fromkeys(self._inames.values()))
            declared = read_kernel_data([*self._variables.values(), "..."])
            made = assemble(Written(self._blocks.parts, self._rules), loops, declared, said)
            other = {name: like for name, like in self._owned.items() if name != like}
            known = {*made.inames, *made.variables, *made.rules}
            return made.copy(written_names={n: w for n, w in other.items() if n in known})

    def _checked_options(self, name: str, options: dict[str, Any]) -> KernelOptions:
        """Return the options of a kernel, with sizes that are products, and functions."""
        _OPTIONS.by_name((), {"name": name, **options})
        options["assumptions"] = self._products.in_all(options.get("assumptions", ""))
        more: Any = options.get("functions") or {}
        if isinstance(more, Mapping):
            options["functions"] = {**self._functions, **cast("Mapping[str, Any]", more)}
        return read_options({}, self._products.sizes, name=name, **options)


_OPTIONS = Signature(read_options, skipped=2, name="Builder.kernel")
