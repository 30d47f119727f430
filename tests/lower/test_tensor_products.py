"""Tensor cores: what work items pass is what the hardware multiplies, as the PTX ISA says it."""

from __future__ import annotations

from itertools import product as places
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotOnTensorCores
from polygen.ir import expression as ex
from polygen.lower.program import LoopProgram, MatrixLoad, TensorProduct
from polygen.pipeline import lower_kernel

KINDS = {"float64": "float64", "float32": "tf32", "float16": "float16", "bfloat16": "bfloat16"}
SHORT = ("float16", "bfloat16")


def small(
    dtype: str = "float64",
    depth: int = 16,
    rows: int = 2,
    warps: int = 1,
    *,
    left: str = "a[i,h,k]",
    right: str = "b[k,t,q,v]",
    tags: str = "h, q, v, k",
    target: str | None = "cuda",
    **changes: Any,
) -> pg.Kernel:
    """Return a product of warps, of ``8*warps*rows`` rows and 16 columns, tiles in local memory."""
    sums = "float64" if dtype == "float64" else "float32"
    shapes = {"a": (8 * warps, rows, depth), "b": (depth, 4, 2, 2), "c": (8 * warps, rows, 4, 2, 2)}
    shapes |= {"at": (depth, rows, 8 * warps), "bt": (2, 4, 2, depth), "bn": (depth, 2, 4, 2)}
    used = [x.partition("[")[0] for x in (left, right)]
    inner = [f"l_{x}" for x in (left, right)]
    if dtype == "float16":
        inner = [f"float32({x})" for x in inner]
    domains = [
        f"{{ [i,t]: 0<=i<{8 * warps} and 0<=t<4 }}",
        f"{{ [h,q,v]: 0<=h<{rows} and 0<=q,v<2 }}",
        f"{{ [k]: 0<=k<{depth} }}",
    ]
    loads: list[str] = []
    for array in used:
        names = [f"{array}{n}" for n in range(len(shapes[array]))]
        sizes = zip(names, shapes[array], strict=True)
        domains += [f"{{ [{name}]: 0<={name}<{size} }}" for name, size in sizes]
        at = ",".join(names)
        loads.append(f"l_{array}[{at}] = {array}[{at}] {{id=load_{array}}}")
    text = [
        *loads,
        "s[h,q,v] = 0 {id=clear, inames=i:t:h:q:v}",
        f"s[h,q,v] = s[h,q,v] + {inner[0]}*{inner[1]} "
        f"{{id=add, inames=i:t:h:q:v:k, dep=clear:load_{used[0]}:load_{used[1]}}}",
        "c[i,h,t,q,v] = s[h,q,v] {id=store, dep=add}",
    ]
    local = pg.AddressSpace.LOCAL
    knl = pg.make_kernel(
        domains,
        text,
        [
            *(pg.GlobalArg(x, dtype, shapes[x]) for x in used),
            pg.GlobalArg("c", sums, shapes["c"]),
            *(pg.TemporaryVariable(f"l_{x}", dtype, shapes[x], address_space=local) for x in used),
            pg.TemporaryVariable("s", sums, (rows, 2, 2)),
        ],
        name="small",
        target=target,
        loop_priority="h, q, v",
    )
    for array in used:
        nest = [f"{array}{n}" for n in range(len(shapes[array]))]
        knl = pg.prioritize_loops(knl, nest)
    for insn in ("clear", "store"):
        knl = pg.duplicate_inames(knl, "h, q, v", within=f"id:{insn}", suffix=f"_{insn}")
        knl = pg.prioritize_loops(knl, f"h_{insn}, q_{insn}, v_{insn}")
    knl = pg.prioritize_loops(knl, "k, h, q, v")
    knl = pg.tag_inames(knl, "i: l.1, t: l.0")
    knl = pg.set_options(knl, **{"allow_tf32": True, **changes})
    return pg.use_tensor_cores(knl, "add", tags) if tags else knl


def products_of(program: LoopProgram) -> list[TensorProduct]:
    """Return the products in a program."""
    found: list[TensorProduct] = []

    def look(block: Any) -> None:
        for node in block:
            if isinstance(node, TensorProduct):
                found.append(node)
            elif hasattr(node, "body"):
                look(node.body)

    look(program.host)
    return found


def _value(node: Any, names: dict[str, int]) -> int:
    if isinstance(node, int):
        return node
    if isinstance(node, ex.Variable):
        return names[node.name]
    if isinstance(node, ex.Sum):
        return sum(_value(child, names) for child in node.children)
    if isinstance(node, ex.Product):
        return int(np.prod([_value(child, names) for child in node.children]))
    a, b = _value(node.numerator, names), _value(node.denominator, names)
    return a // b if isinstance(node, ex.FloorDiv) else a % b


def offset(node: ex.Subscript, names: dict[str, int]) -> int:
    return _value(node.index, names)


def loaded(load: MatrixLoad, tile: Any, names: Any, y: int) -> Any:
    """Return the registers, of two numbers, that ``ldmatrix`` gives each of 32 work items."""
    each = load.registers // len(load.rows)
    found = np.zeros((32, load.registers, 2))
    for number, row in enumerate(load.rows):
        begins = [offset(row, names(lane % 4, y + lane // 4)) for lane in range(32)]
        for m, lane, e in places(range(each), range(32), range(2)):
            r, c = lane // 4, 2 * (lane % 4) + e
            if load.is_transposed:
                r, c = c, r
            found[lane, number * each + m, e] = tile[begins[8 * m + r] + c]
    return found


def multiplied(node: TensorProduct, tiles: dict[str, Any], counts: dict[str, int]) -> Any:
    """Return what a group's work items hold, as the PTX ISA says what its instructions do."""
    rows = len(node.sums) // 2
    held: dict[tuple[int, int, int], float] = {}
    loops = [*node.depths, *node.loops]
    for at in places(*(range(0, count, step) for _, count, step in loops)):
        names = {iname: n for (iname, _, _), n in zip(loops, at, strict=True)}
        for y in range(0, counts["i"], 8):

            def of(x: int, y: int, names: dict[str, int] = names) -> dict[str, int]:
                return {**names, "t": x, "i": y}

            if node.loads is None:
                left, right = (
                    np.array(
                        [
                            [
                                [tiles[ex.name_of(n)][offset(n, of(lane % 4, y + lane // 4))]]
                                for n in side
                            ]
                            for lane in range(32)
                        ]
                    )
                    for side in (node.left, node.right)
                )
            else:
                left, right = (loaded(n, tiles[ex.name_of(n.rows[0])], of, y) for n in node.loads)
            width = left.shape[-1]
            deep = 4 * width * right.shape[1]
            a, b = np.zeros((8 * rows, deep)), np.zeros((deep, 8))
            for lane, p, e in places(range(32), range(right.shape[1]), range(width)):
                g, t = divmod(lane, 4)
                k = 4 * width * p + width * t + e
                b[k, g] = right[lane, p, e]
                for h in range(rows):
                    a[g + 8 * h, k] = left[lane, p * rows + h, e]
            c = a @ b
            for lane, h, v in places(range(32), range(rows), range(2)):
                x, g = lane % 4, lane // 4
                key = (x, y + g, offset(node.sums[2 * h + v], names))
                held[key] = held.get(key, 0) + c[g + 8 * h, 2 * x + v]
    return held


@pytest.mark.parametrize(
    ("dtype", "depth", "rows", "warps", "turned"),
    [
        ("float64", 4, 1, 1, False),
        ("float64", 8, 2, 2, True),
        ("float64", 16, 4, 1, False),
        ("float32", 12, 1, 1, True),
        ("float16", 16, 2, 2, False),
        ("float16", 16, 2, 1, True),
        ("float16", 48, 4, 2, True),
        *(
            pytest.param(dtype, depth, rows, warps, turned, marks=pytest.mark.more)
            for dtype, depth, rows in (
                ("float64", 48, 1),
                ("float32", 8, 2),
                ("float16", 96, 4),
                ("bfloat16", 32, 2),
            )
            for warps in (1, 2)
            for turned in (False, True)
        ),
    ],
)
def test_what_work_items_pass(dtype: str, depth: int, rows: int, warps: int, turned: bool) -> None:
    given = {"left": "at[k,h,i]", "right": "bt[q,t,v,k]"} if turned else {}
    if dtype in SHORT and not turned:
        given = {"right": "bn[k,q,t,v]"}
    knl = small(dtype, depth, rows, warps, **given)
    (node,) = products_of(lower_kernel(knl))
    assert node.kind == KINDS[dtype]
    assert len(node.sums) == (4 if rows % 2 == 0 else 2)
    rng = np.random.default_rng(depth)
    tiles: dict[str, Any] = {
        f"l_{x}": rng.integers(-9, 9, [n for n in knl.array(x).shape or () if isinstance(n, int)])
        for x in ("a", "at", "b", "bt", "bn")
        if x in knl.variables
    }
    flat = {name: tile.ravel() for name, tile in tiles.items()}
    held = multiplied(node, flat, {"i": 8 * warps})
    a = tiles["l_at"].transpose(2, 1, 0) if turned else tiles["l_a"]
    if turned:
        b = tiles["l_bt"].transpose(3, 1, 0, 2)
    else:
        b = tiles["l_bn"].transpose(0, 2, 1, 3) if "l_bn" in tiles else tiles["l_b"]
    expected = np.einsum("ihk,ktqv->tihqv", a, b)
    assert len(held) == expected.size
    for (x, y, at), sum_ in held.items():
        assert sum_ == expected[x, y].ravel()[at]


def refused(knl: pg.Kernel) -> str:
    with pytest.raises(NotOnTensorCores) as caught:
        pg.generate_code(knl)
    return str(caught.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"depth": 6}, "'k' has 6 values, no multiple of 4"),
        ({"dtype": "float16", "depth": 8, "right": "bn[k,q,t,v]"}, "no multiple of 16"),
        ({"dtype": "float16", "rows": 1, "right": "bn[k,q,t,v]"}, "loops over rows has an even"),
        ({"dtype": "float16"}, "no eight numbers of 'l_b' lie side by side"),
        ({"dtype": "float16", "left": "a[i,h,k]", "depth": 20}, "no multiple of 16"),
        ({"dtype": "float32", "allow_tf32": False}, "would be rounded to TF32"),
        ({"allow_reassociation": False}, "as its options do not allow"),
        ({"contract": "off"}, "as its options do not allow"),
        ({"left": "at[k,h,0]"}, "one factor has to depend on 'i' (l.1) and not on 't' (l.0)"),
        ({"tags": "k, q, v"}, "the loop over 'h' in it is not tagged mma"),
    ],
)
def test_what_is_refused(options: dict[str, Any], expected: str) -> None:
    assert expected in refused(small(**options))


def test_products_of_halves_are_halves() -> None:
    text = refused(_untyped("float16", "float32"))
    assert "float32(l[...]) says that they are not" in text


def test_types_that_there_are_none_for() -> None:
    assert "factors of type int32 and sums of type int32" in refused(_untyped("int32", "int32"))
    assert "factors of type float32 and sums of type float64" in refused(
        _untyped("float32", "float64")
    )


def _untyped(
    factors: str, sums: str, tags: str = "i: l.1, t: l.0", rows: int = 8, around: str = "0"
) -> pg.Kernel:
    """Return a product of 8 rows and columns of one array, in local memory."""
    knl = pg.make_kernel(
        [
            f"{{ [i,e]: 0<=i<{rows} and 0<=e<={around} }}",
            "{ [t,v]: 0<=t<4 and 0<=v<2 }",
            "{ [k,x,y]: 0<=k,x,y<16 }",
        ],
        """
        l[x,y] = a[x,y] {id=load}
        s[v] = 0 {id=clear, inames=i:t:v}
        s[v] = s[v] + l[i,k]*l[k,2*t+v] {id=add, inames=i:t:v:k:e, dep=clear:load}
        c[i,t,v] = s[v] {id=store, dep=add}
        """,
        [
            pg.GlobalArg("a", factors, (16, 16)),
            pg.GlobalArg("c", sums, (rows, 4, 2)),
            pg.TemporaryVariable("l", factors, (16, 16), address_space=pg.AddressSpace.LOCAL),
            pg.TemporaryVariable("s", sums, 2),
            "...",
        ],
        name="small",
        target="cuda",
        loop_priority=("x, y", "e, k"),
    )
    for insn in ("clear", "store"):
        knl = pg.duplicate_inames(knl, "v", within=f"id:{insn}", suffix=f"_{insn}")
    knl = pg.prioritize_loops(knl, "e, k, v")
    return pg.use_tensor_cores(pg.tag_inames(knl, tags), "add", "v, k")


@pytest.mark.parametrize(
    ("tags", "rows", "expected"),
    [
        ("i: l.0, t: l.1", 8, "there are 8 work items along l.0, not 4"),
        ("i: l.1, t: l.0", 12, "there are 12 work items along l.1, not a multiple of 8"),
        ("t: l.0", 8, "there are 0 work items along l.1, not a multiple of 8"),
    ],
)
def test_groups_that_are_no_warps(tags: str, rows: int, expected: str) -> None:
    assert expected in refused(_untyped("float64", "float64", tags, rows))


def test_work_items_that_do_not_come_together() -> None:
    knl = _untyped("float64", "float64", around="i")
    assert "not all work items of a warp come to it together" in refused(knl)


def test_subscripts_that_are_not_affine() -> None:
    knl = small("float64", 8, left="a[i,h,k*k % 8]")
    assert "its subscripts are not affine" in refused(knl)


def test_loops_without_tensor_cores() -> None:
    """Elsewhere, the loops are loops, and the same code."""
    knl = small("float64", 8, target=None)
    rng = np.random.default_rng(1)
    a, b = rng.random((8, 2, 8)), rng.random((8, 4, 2, 2))
    for target in ("c", "opencl"):
        _, (c,) = knl.executor(target)(a=a, b=b)
        np.testing.assert_allclose(c, np.einsum("ihk,ktqv->ihtqv", a, b), rtol=1e-13)
        assert "pg_multiply" not in str(pg.generate_code(knl, target))


def test_the_program_says_what_is_on_tensor_cores() -> None:
    text = str(lower_kernel(small("float64", 8)))
    assert "for k in [0, 8):" in text
    assert "# on tensor cores" in text


def test_clusters_have_loops() -> None:
    knl = pg.set_options(small("float64", 8), clusters=True)
    assert "pg_multiply" not in str(pg.generate_code(knl))
