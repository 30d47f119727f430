"""Random states of pools, in the place of which is how many numbers were drawn."""

from __future__ import annotations

import ast
import copy

from polygen.python.tree_parts import assign, load, placed
from polygen.workunits.translation.nested_dispatches import NestedDispatches
from polygen.workunits.translation.random_draws import drawn


class RandomStates(NestedDispatches):
    """The part of a translation that knows random states."""

    def _note_random_state(self, node: ast.stmt) -> bool:
        """Let a random state be the count of its numbers: ``state = pool.get_state()``."""
        value = getattr(node, "value", None)
        if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(value, ast.Call):
            return False
        if not isinstance(value.func, ast.Attribute) or value.func.attr != "get_state":
            return False
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if not isinstance(target, ast.Name):
                raise self.refused(target, "a random state has no name")
            self._pools[target.id] = value.func.value
        node.value = placed(ast.Constant(0), value)
        return True

    def random(self, call: ast.Call, state: str) -> ast.expr:
        """Return a random number of a state, which counts it before the statement."""
        assert isinstance(call.func, ast.Attribute)
        if not self._index:
            raise self.refused(call, "a function that work units call has a random state")
        count = self.name(f"{state}_count")
        self._before.append(assign(count, load(state, call), call))
        more = ast.BinOp(load(count, call), ast.Add(), ast.Constant(1))
        self._before.append(assign(state, more, call))
        index: list[ast.expr] = [load(name, call) for name in self._index]
        given = [self.expression(part) for part in call.args]
        pool = copy.deepcopy(self._pools[state])
        found = drawn(call.func.attr, pool, index, load(count, call), given, call, self.constant)
        if found is None:
            raise self.refused(call, f"a random state has no '{call.func.attr}' of these arguments")
        return found
