"""Makes a kernel of the nodes that a function was traced to, through `polygen.Builder`."""

from __future__ import annotations

import ast
from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.atomicity import Atomicity
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.language.builder.builder import Builder
from polygen.python.affine import Affine
from polygen.python.function_source import FunctionSource
from polygen.python.nodes import Assign, Break, Fault, For, Node, Storage, When, While
from polygen.python.tracer import Traced
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


class _Maker:
    def __init__(self, traced: Traced, source: FunctionSource) -> None:
        self._traced = traced
        self._source = source
        self._renamed = {old: ex.Variable(new) for old, new in traced.merged.items()}
        self._builder = Builder(location=source.place(source.tree))
        self._opened: set[str] = set()
        self._nests: list[str] = []

    def kernel(self, name: str, target: str) -> Kernel:
        nodes = self._traced.nodes
        for one, dtype in nodes.parameters.items():
            self._builder.declare(ValueArg(one, dtype))
        for storage in nodes.storages.values():
            self._builder.declare(_declaration(storage))
        for scalar in nodes.scalars.values():
            if scalar.name not in self._renamed:
                made: Any = TemporaryVariable
                self._builder.declare(made(scalar.name, scalar.dtype, (), AddressSpace.AUTO))
        self._block(nodes.body)
        kernel = self._builder.kernel(
            name,
            seq_dependencies=True,
            keep_reduction_types=True,
            target=target,
            assumptions=self._assumptions(),
            loop_priority=self._nests,
        )
        return set_options(kernel, contract="off")

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
        with self._builder.when(condition, kept=node.kept, location=place):
            self._block(node.body)
        if node.otherwise:
            with self._builder.otherwise(location=place):
                self._block(node.otherwise)

    def _fault(self, node: Fault) -> None:
        name = self._traced.nodes.fault
        assert name is not None
        count: Any = ex.Subscript(ex.Variable(name), node.kind)
        condition = self._tree(node.condition)
        self._reduced(condition)
        self._builder.assign(
            count,
            ex.sum_of(count, 1),
            when=condition,
            within=(),
            atomic=Atomicity(),
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
        return None if node is None else self._source.place(node)


def _is_empty(node: Node) -> bool:
    """Tell whether nothing is executed in a loop or a branch."""
    if isinstance(node, When):
        return all(map(_is_empty, (*node.body, *node.otherwise)))
    return isinstance(node, For) and all(map(_is_empty, node.body))


def _declaration(storage: Storage) -> GlobalArg | TemporaryVariable:
    made: Any = TemporaryVariable if storage.role == "temporary" else GlobalArg
    shape = tuple([form.tree() for form in storage.shape])
    if storage.role == "temporary":
        return made(storage.name, storage.dtype, shape, AddressSpace.GLOBAL)  # type: ignore[no-any-return]
    return made(storage.name, storage.dtype, shape)  # type: ignore[no-any-return]
