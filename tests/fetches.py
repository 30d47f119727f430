"""Updates that return the old value, of numbers of every type, and what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from tests.properties.together import run_together
from tests.updates import ATOMIC

N = 37
# Parts of words, signs and none, 64 bits, and halves.
SOME = ("bool", "uint8", "int32", "int64", "float16", "float32")
# How an element is updated, NumPy's function of the old value, v and w, and the types that have it.
FORMS: Mapping[str, tuple[str, Callable[[Any, Any, Any], Any], str]] = {
    "add": ("fetch_add({0}, v[i])", lambda h, v, _: h + v, "iufc"),
    "sub": ("fetch_sub({0}, v[i])", lambda h, v, _: h - v, "iufc"),
    "mul": ("fetch_mul({0}, w[i])", lambda h, _, w: h * w, "iufc"),
    "div": ("fetch_div({0}, w[i])", lambda h, _, w: h // w, "iu"),
    "truediv": ("fetch_truediv({0}, w[i])", lambda h, _, w: h / w, "f"),
    "mod": ("fetch_mod({0}, w[i])", lambda h, _, w: h % w, "iu"),
    "min": ("fetch_min({0}, v[i])", lambda h, v, _: np.minimum(h, v), "iuf"),
    "max": ("fetch_max({0}, v[i])", lambda h, v, _: np.maximum(h, v), "iuf"),
    "and": ("fetch_and({0}, v[i])", lambda h, v, _: h & v, "iub"),
    "or": ("fetch_or({0}, v[i])", lambda h, v, _: h | v, "iub"),
    "xor": ("fetch_xor({0}, v[i])", lambda h, v, _: h ^ v, "iub"),
    "lshift": ("fetch_lshift({0}, s[i])", lambda h, _, __: h << _places(h), "iu"),
    "rshift": ("fetch_rshift({0}, s[i])", lambda h, _, __: h >> _places(h), "iu"),
    "exchange": ("exchange({0}, v[i])", lambda _, v, __: v, "iufcb"),
    "compare": (
        "compare_exchange({0}, v[i], w[i])",
        lambda h, v, w: np.where(h == v, w, h),
        "iufcb",
    ),
    "any": ("{0}, {0} or v[i]", lambda h, v, _: h | v, "b"),
    "own": ("{0}, 3*{0} + v[i]", lambda h, v, _: np.asarray(3).astype(h.dtype) * h + v, "iuf"),
}


def _places(h: Any) -> Any:
    return (np.arange(len(h)) % 5).astype(h.dtype)


def forms_of(name: str) -> list[str]:
    """Return the names of the forms that a type has."""
    kind = "f" if name == "bfloat16" else to_dtype(name).kind
    return [form for form, (_, _, kinds) in FORMS.items() if kind in kinds]


def kernel(name: str) -> Kernel:
    """Return a kernel of all forms that a type has: of elements that are each updated once."""
    dtype, lines = to_dtype(name), list[str]()
    given: list[Any] = [pg.GlobalArg("v, w, s", dtype, N), pg.GlobalArg("at", np.int32, N)]
    for form in forms_of(name):
        text, element = FORMS[form][0], f"h_{form}[at[i]]"
        old = f"old_{form}[i]" if "(" in text else f"old_{form}[i], {element}"
        lines.append(f"{old} = {text.format(element)}  {{atomic=any_order}}")
        given += [pg.GlobalArg(f"h_{form}, old_{form}", dtype, N)]
    knl = pg.make_kernel(f"{{ [i]: 0<=i<{N} }}", "\n".join(lines), given)
    return pg.split_iname(knl, "i", 8, outer_tag="g.0", inner_tag="l.0")


def arrays(name: str) -> dict[str, Any]:
    """Return what a kernel is called with."""
    dtype, rng = to_dtype(name), np.random.default_rng(11)
    v: Any = rng.integers(0, 2 if name == "bool" else 7, N).astype(dtype)
    w: Any = rng.integers(1, 2 if name == "bool" else 5, N).astype(dtype)
    h: Any = rng.integers(0, 2 if name == "bool" else 7, N).astype(dtype)
    if dtype.kind in "ifV":
        for each in (v, w, h):
            each[::3] = -each[::3]
    if dtype.kind == "i":
        h[1], v[1], h[3] = np.iinfo(dtype).max, 3, np.iinfo(dtype).min
    if dtype.kind in "fV":
        v[17], h[18], v[18], v[20] = np.inf, 0.0, -0.0, np.nan
        h[21] = np.nan
    forms = forms_of(name)
    olds = {f"old_{form}": np.zeros(N, dtype) for form in forms}
    at = rng.permutation(N).astype(np.int32)
    return {
        "v": v,
        "w": w,
        "s": _places(h),
        "at": at,
        **olds,
        **{f"h_{form}": h.copy() for form in forms},
    }


def _expected(name: str) -> dict[str, Any]:
    given = arrays(name)
    dtype = np.dtype(np.float32) if name == "bfloat16" else to_dtype(name)
    v, w = (given[each].astype(dtype) for each in "vw")
    found: dict[str, Any] = {}
    for form in forms_of(name):
        h = given[f"h_{form}"].astype(dtype)
        old = h[given["at"]]
        with np.errstate(all="ignore"):
            new = FORMS[form][1](old, v, w).astype(to_dtype(name)).astype(dtype)
        h[given["at"]] = new
        found |= {f"h_{form}": h, f"old_{form}": old}
    return found


def check(target: str, patch: pytest.MonkeyPatch, types: Sequence[str] = ATOMIC) -> None:
    """Compare updates that return the old value with NumPy."""
    kernels = [(kernel(name), arrays(name)) for name in types]
    for name, found in zip(types, run_together(kernels, target, patch, ()), strict=True):
        assert found is not None
        for each, values in _expected(name).items():
            got = found[each].astype(values.dtype)
            np.testing.assert_array_equal(got, values, err_msg=f"{name} {each}")
