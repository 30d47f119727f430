"""Makes a kernel of the nodes that a function was traced to, through `polygen.Builder`."""

from __future__ import annotations

import ast
from typing import Any

from polygen.analysis.typing.inference import sizes
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.atomicity import ANY_ORDER, Atomicity
from polygen.ir.changed import changed
from polygen.ir.expression import Expression
from polygen.ir.fetches import with_old
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.language.builder.builder import Builder
from polygen.python.affine import Affine
from polygen.python.function_source import FunctionSource
from polygen.python.kept_conditions import assignments
from polygen.python.nodes import (
    Assign,
    Break,
    Fault,
    Fetch,
    For,
    InOrder,
    Node,
    Print,
    Storage,
    When,
    While,
)
from polygen.python.print_calls import text_of_print
from polygen.python.statement_origins import origin_of
from polygen.python.tracer import Traced
from polygen.python.values import INT64
from polygen.source import SourceLocation
from polygen.transforms.kernels.set_options import set_options


def kernel_of_nodes(traced: Traced, source: FunctionSource, name: str, target: str) -> Kernel:
    """Return the kernel of a traced block.

    Parameters:
        traced: the block.
        source: the function, for places.
        name: the kernel's name.
        target: the target's name.

    Raises:
        UserError: as `make_kernel` does, at the user's lines.
    """
    return _Maker(traced, source).kernel(name, target)


def _with_types_of_values(kernel: Kernel) -> Kernel:
    """Return the kernel with a type for integers that are no sizes: a step may ask for it."""
    counting = sizes(kernel)
    arguments: list[Argument] = []
    for argument in kernel.arguments:
        is_size = argument.name in counting or not isinstance(argument, ValueArg)
        is_typed = is_size or argument.dtype is not None
        arguments.append(argument if is_typed else changed(argument, dtype=INT64))
    return kernel.copy(arguments=tuple(arguments))


class _Maker:
    def __init__(self, traced: Traced, source: FunctionSource) -> None:
        self._traced = traced
        self._source = source
        self._renamed = {old: ex.Variable(new) for old, new in traced.merged.items()}
        self._builder = Builder(location=source.place(source.tree))
        self._opened: set[str] = set()
        self._nests: list[str] = []
        self._branches: list[tuple[Expression, frozenset[str]]] = []

    def kernel(self, name: str, target: str) -> Kernel:
        nodes = self._traced.nodes
        for one, dtype in nodes.parameters.items():
            self._builder.declare(ValueArg(one, dtype))
        for storage in nodes.storages.values():
            self._builder.declare(_declaration(storage))
        for scalar in nodes.scalars.values():
            if scalar.name not in self._renamed:
                made: Any = TemporaryVariable
                space = AddressSpace.PRIVATE if scalar.is_own else AddressSpace.AUTO
                self._builder.declare(made(scalar.name, scalar.dtype, (), space))
        self._block(nodes.body)
        kernel = self._builder.kernel(
            name,
            seq_dependencies=True,
            keep_reduction_types=True,
            target=target,
            assumptions=self._assumptions(),
            loop_priority=self._nests,
        )
        kernel = _with_types_of_values(kernel)
        if nodes.printed is not None:
            kernel = kernel.copy(preambles=_DECLARED)
        return set_options(kernel, contract="sums" if nodes.has_matrix_products else "off")

    def _assumptions(self) -> str:
        parts = [f"{size} >= 2" for size in sorted(self._traced.extents)]
        parts += [f"{show_expression(form.tree())} >= 0" for form in self._traced.guards]
        return " and ".join(parts)

    # --- nodes

    def _block(self, body: list[Node]) -> None:
        for node in body:
            if not _is_empty(node):
                self._node(node)

    def _node(self, node: Node) -> None:
        match node:
            case Assign():
                value = self._tree(node.value)
                self._reduced(value)
                target, place = self._tree(node.target), self._at(node.node)
                self._builder.assign(target, value, within=(), location=place)
            case For():
                self._for(node)
            case While():
                self._while(node)
            case When():
                self._when(node)
            case Fault():
                self._fault(node)
            case Fetch():
                self._fetch(node)
            case InOrder():
                self._in_order(node)
            case Print():
                self._print(node)
            case Break():
                self._builder.break_(location=self._at(node.node))

    def _for(self, node: For) -> None:
        lower, upper = self._form(node.lower), self._end(node.upper)
        loop = self._builder.loop(node.iname, lower, upper, node.step, location=self._at(node.node))
        assert loop.iname == node.iname, (loop.iname, node.iname)
        with loop:
            self._block(node.body)

    def _while(self, node: While) -> None:
        condition = None if node.condition is None else self._tree(node.condition)
        loop = self._builder.loop(node.iname, 0, while_=condition, location=self._at(node.node))
        with loop:
            self._block(node.body)

    def _when(self, node: When) -> None:
        condition, place = self._tree(node.condition), self._at(node.node)
        self._reduced(condition)
        asked, kept = self._asked_within(condition, kept=node.kept, place=place)
        with self._builder.when(asked, kept=kept, location=place):
            self._branch(condition, node.body)
        if node.otherwise:
            with self._builder.otherwise(location=place):
                self._branch(ex.LogicalNot(condition), node.otherwise)

    def _branch(self, condition: Expression, body: list[Node]) -> None:
        """Add what is executed where a condition holds."""
        names = frozenset([ex.name_of(one.target) for one in assignments(body)])
        self._branches.append((condition, frozenset(self._renamed_names(names))))
        try:
            self._block(body)
        finally:
            self._branches.pop()

    def _renamed_names(self, names: frozenset[str]) -> list[str]:
        merged = self._traced.merged
        return [merged.get(name, name) for name in names]

    def _asked_within(
        self, condition: Expression, *, kept: bool, place: SourceLocation | None
    ) -> tuple[Expression, bool]:
        """Return a condition that asks for what branches around it assign in these alone.

            if i != j:                 d = x[i] - x[j]      {if=i != j}
                d = x[i] - x[j]        y[i] += d            {if=i != j and (i != j and d < c)}
                if d < c: y[i] += d

        Conditions of one statement are asked in any order; the parts of ``and`` are not.
        """
        around = [one for one, _ in self._branches if self._is_of_loops(one)]
        assigned = frozenset[str]().union(*[names for _, names in self._branches])
        if not around or not (kept or assigned & walk.free_variables(condition)):
            return condition, kept
        if kept:
            name = self._builder.name("holds")
            temporary: Any = TemporaryVariable
            self._builder.declare(temporary(name, "bool", (), AddressSpace.AUTO))
            self._builder.assign(ex.Variable(name), condition, within=(), location=place)
            condition = ex.Variable(name)
        return ex.LogicalAnd((*around, condition)), False

    def _is_of_loops(self, condition: Expression) -> bool:
        """Tell whether loops and sizes decide a condition, and no data."""
        nodes = self._traced.nodes
        data = {*nodes.scalars, *nodes.storages}
        return data.isdisjoint(walk.free_variables(condition))

    def _fault(self, node: Fault) -> None:
        name = self._traced.nodes.fault
        assert name is not None
        count: Any = ex.Subscript(ex.Variable(name), node.site)
        condition, place = self._tree(node.condition), self._at(node.node)
        self._reduced(condition)
        condition, _ = self._asked_within(condition, kept=False, place=place)
        self._builder.assign(
            count,
            ex.sum_of(count, 1),
            when=condition,
            within=(),
            atomic=Atomicity(),
            location=place,
        )

    def _fetch(self, node: Fetch) -> None:
        old, target, place = ex.Variable(node.old), self._tree(node.target), self._at(node.node)
        value = self._tree(node.value)
        if node.is_atomic:
            self._builder.assign(
                (old, target), (target, value), within=(), atomic=ANY_ORDER, location=place
            )
            return
        self._builder.assign(old, target, within=(), location=place)
        value = with_old(target, value, old)
        self._builder.assign(target, value, within=(), location=place)

    def _in_order(self, node: InOrder) -> None:
        names = [ex.name_of(self._tree(ex.Variable(name))) for name in node.names]
        self._builder.code(
            _NOTHING,
            reads=names,
            writes=ex.Variable(node.scalar),
            within=(),
            location=self._at(node.node),
        )

    def _print(self, node: Print) -> None:
        name = self._traced.nodes.printed
        assert name is not None
        order: Any = ex.Subscript(ex.Variable(name), 0)
        line = [node.line] if node.line else []
        self._builder.code(
            text_of_print(node.parts) if node.parts else _NOTHING,
            reads=[*line, *(part[1] for part in node.parts if not isinstance(part, str))],
            writes=(order, *map(ex.Variable, line)),
            atomic=ANY_ORDER if node.is_free else None,
            within=(),
            location=self._at(node.node),
        )

    def _reduced(self, tree: Expression) -> None:
        """Make the loops of reductions, which are none of the open ones."""
        for reduction in walk.reductions(tree):
            if len(reduction.inames) > 1:
                self._nests.append(", ".join(reduction.inames))
            for iname in reduction.inames:
                if iname in self._opened:
                    continue
                self._opened.add(iname)
                lower, upper = self._traced.nodes.reduced[iname]
                made = self._builder.loop(iname, self._form(lower), self._end(upper))
                assert made.iname == iname, (made.iname, iname)

    def _end(self, form: Affine) -> Expression:
        """Return the end of a loop, in terms of sizes and loops if that is known."""
        for name, tree in self._traced.nodes.ends.items():
            if form == Affine.of(name):
                return self._tree(tree)
        return self._form(form)

    def _form(self, form: Affine) -> Expression:
        return self._tree(form.tree())

    def _tree(self, tree: Expression) -> Expression:
        return walk.substitute(tree, self._renamed) if self._renamed else tree

    def _at(self, node: ast.AST | None) -> SourceLocation | None:
        return None if node is None else origin_of(node, self._source).place(node)


# Other targets have it without a header; a header has names that users may have, too.
_DECLARED = (
    ("c", "printf", "int printf(char const *restrict, ...);"),
    # Compilers warn of %lg, which PoCL needs for numbers of 64 bits.
    ("opencl", "printf", '#pragma clang diagnostic ignored "-Wformat"'),
)
_NOTHING = "// all iterations above come before those below"


def _is_empty(node: Node) -> bool:
    """Tell whether nothing is executed in a loop or a branch."""
    if isinstance(node, When):
        return all(map(_is_empty, (*node.body, *node.otherwise)))
    return isinstance(node, For) and all(map(_is_empty, node.body))


def _declaration(storage: Storage) -> GlobalArg | TemporaryVariable:
    made: Any = TemporaryVariable if storage.role == "temporary" else GlobalArg
    if storage.table is not None:
        table: Any = storage.table
        return TemporaryVariable(storage.name, initializer=table, read_only=True)
    shape = tuple([form.tree() for form in storage.shape])
    if storage.role == "temporary":
        return made(storage.name, storage.dtype, shape, AddressSpace.GLOBAL)  # type: ignore[no-any-return]
    return made(storage.name, storage.dtype, shape)  # type: ignore[no-any-return]
