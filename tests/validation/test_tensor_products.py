"""Products on tensor cores that add up something else than their loops are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from polygen.errors import WrongStatement
from polygen.ir import expression as ex
from polygen.lower.program import TensorProduct
from polygen.pipeline import lower_kernel
from polygen.validation.tensor_products import check_tensor_products
from tests.lower.test_tensor_products import products_of, small

DOUBLES = small("float64", 16, 4)
HALVES = small("float16", 32, right="bn[k,q,t,v]")


def moved(node: ex.Subscript, by: int = 1) -> ex.Subscript:
    return ex.Subscript(node.aggregate, ex.sum_of(node.index, by))


def with_load(node: TensorProduct, side: int, **changes: Any) -> TensorProduct:
    assert node.loads is not None
    loads = [*node.loads]
    loads[side] = replace(loads[side], **changes)
    return replace(node, loads=(loads[0], loads[1]))


FAULTS: dict[str, tuple[Any, Callable[[TensorProduct], TensorProduct]]] = {
    "left in another order": (DOUBLES, lambda n: replace(n, left=n.left[::-1])),
    "right in another order": (DOUBLES, lambda n: replace(n, right=n.right[::-1])),
    "another element": (DOUBLES, lambda n: replace(n, left=(moved(n.left[0]), *n.left[1:]))),
    "another sum": (DOUBLES, lambda n: replace(n, sums=n.sums[::-1])),
    "other work items": (DOUBLES, lambda n: replace(n, lanes=n.lanes[::-1])),
    "one step less": (
        DOUBLES,
        lambda n: replace(n, loops=((n.loops[0][0], n.loops[0][1] - 2, 2), *n.loops[1:])),
    ),
    "turned": (HALVES, lambda n: with_load(n, 1, is_transposed=False)),
    "another row": (HALVES, lambda n: with_load(n, 0, rows=(moved(n.loads[0].rows[0], 8),))),  # type: ignore[index]
    "the same step again": (HALVES, lambda n: replace(n, depths=((n.depths[0][0], 16, 16),))),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    knl, change = FAULTS[name]
    program = lower_kernel(knl)
    check_tensor_products(knl, program)  # which says nothing
    (node,) = products_of(program)

    def with_fault(nodes: Any) -> Any:
        return tuple(
            change(n)
            if n is node
            else replace(n, body=with_fault(n.body))
            if hasattr(n, "body")
            else n
            for n in nodes
        )

    with pytest.raises(WrongStatement, match="tensor cores add up other elements"):
        check_tensor_products(knl, replace(program, host=with_fault(program.host)))
