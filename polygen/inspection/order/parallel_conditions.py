"""`polygen.parallel_conditions`: the sizes and scalars for which loops carry no dependence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polygen.analysis.dataflow.carried_conditions import (
    ConditionalDependence,
    LoopConditions,
    carried_conditions,
    conditional_dependences,
)
from polygen.analysis.dataflow.statement_parallelism import parallel_loops_by_statement
from polygen.errors import in_users_words, unambiguous
from polygen.ir.cached import cached_property
from polygen.ir.collection import without_collection
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.public import public


class ParallelConditions(Mapping[str, LoopConditions]):
    """The dependences that each loop carries, and when, by iname.  It prints as a table."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._rows = carried_conditions(kernel)
        self._names = unambiguous(kernel.names_in_errors)
        self._reduced = NO_NAMES.union(*(i.reduction_inames for i in kernel.instructions))

    def __getitem__(self, iname: str) -> LoopConditions:
        return self._rows[iname]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __call__(self, **values: int) -> tuple[str, ...]:
        """Return the inames whose loops carry no dependence for values of sizes and scalars."""
        return tuple([i for i, row in self._rows.items() if row.parallel.among(values)])

    def by_statement(self, **values: int) -> Mapping[str, tuple[str, ...]]:
        """Return for each instruction which of its loops may be parallel for some sizes.

        More than for the loops as they are: each is distributed over statements first, where they
        do not depend on each other.

        Parameters:
            values: of sizes and scalars.

        Raises:
            MissingArgument: if a value is missing that a condition mentions.
        """
        found = [c.dependence for c in self._everything if c.when.among(values)]
        return parallel_loops_by_statement(self._kernel, found)

    @cached_property
    def _everything(self) -> tuple[ConditionalDependence, ...]:
        return conditional_dependences(self._kernel)

    def __str__(self) -> str:
        called = {iname: self._names.get(iname, iname) for iname in self._rows}
        width = max(map(len, (*called.values(), "iname")))
        lines = [f"{'iname':{width}}  parallel"]
        for iname, row in self._rows.items():
            first, *others = in_users_words(self._shown(row), self._names).splitlines()
            lines.append(f"{called[iname]:{width}}  {first}")
            lines += [f"{'':{width}}    {line}" for line in others]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"ParallelConditions({', '.join(f'{i}: {r.parallel}' for i, r in self.items())})"

    def _shown(self, row: LoopConditions) -> str:
        answer = str(row.parallel)
        answer = answer if answer in {"always", "never"} else f"if {answer}"
        if row.iname in self._reduced:
            answer += ", as a reduction"
        if row.unless_data != row.parallel:
            answer += f"; unless data decides otherwise, {_clause(str(row.unless_data))}"
        copied = row.only_with_old_values
        if not copied.is_never:
            arrays = " and ".join(row.overwritten)
            answer += f"; with the old values of {arrays}, {_clause(str(copied))}"
        return "\n".join([answer, *map(str, row.carried)])


def _clause(condition: str) -> str:
    return condition if condition in {"always", "never"} else f"if {condition}"


@public
@without_collection
def parallel_conditions(kernel: Kernel) -> ParallelConditions:
    """Return for each loop the sizes and scalars for which it carries no dependence.

    `parallel_inames` says which loops may be parallel whatever the sizes are.  This finds, once for
    all calls, the conditions under which the others may: each is a projection of the dependences
    of a loop onto the parameters, and takes about a microsecond to evaluate.  That a loop carries
    nothing means that its iterations may come in any order while those of the loops around it
    come in theirs.  `variants` makes a kernel for each such condition.

    Where data decides which elements are touched (a subscript that is read from an array, or that
    is not affine), everything that may be a dependence counts as one.

    Parameters:
        kernel: the kernel.

    Returns:
        A mapping from inames to `LoopConditions`, in the order of the domains.  It prints as a
        table; called with values of sizes and scalars, it returns the loops that carry nothing.

    Raises:
        NoLoopNest, DependencyCycle: if there is no order at all.
        ProofLimit: if isl has more to do than is reasonable.

    >>> import numpy as np
    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i]: 0<=i<n }", "a[i + k + s] = a[i + s] + b[i]",
    ...     [pg.GlobalArg("a", np.float64, shape="m"), pg.GlobalArg("b", np.float64), "..."],
    ...     assumptions="0<=s and 0<=s+k and s+n<=m and s+k+n<=m",
    ... )
    >>> found = pg.parallel_conditions(knl)
    >>> print(found["i"].parallel)
    k + n <= 0 or n <= k or k == 0
    >>> print(found["i"].only_with_old_values)
    k + n >= 1 and k <= -1
    >>> for dependence in found["i"].carried:
    ...     print(dependence.dependence.kind, *dependence.distance, "if", dependence.when)
    flow k if k >= 1 and k < n
    anti -k if k + n >= 1 and k <= -1
    >>> found(n=100, k=100, m=200, s=0)
    ('i',)

    Source: Jacob, Trinder and Singer, Python Programmers Have GPUs Too (2019), section 3.1, whose
    run-time stage solves the dependences again for the values of each call.
    """
    return ParallelConditions(kernel)
