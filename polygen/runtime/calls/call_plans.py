"""Plans: what is found out once about calls with the same types, shapes, strides and sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from polygen.ir.layout import Auto
from polygen.runtime.arrays.array_facts import ArrayInfo
from polygen.runtime.arrays.expression_values import value_of
from polygen.runtime.arrays.memory_layouts import value_of_hidden
from polygen.runtime.calls.arguments import Call, Form
from polygen.runtime.calls.call_recording import Called
from polygen.runtime.calls.kernel_variant import Variant

# The values of what the wrapper asks for: see `polygen.runtime.calls.call_wrapper.Wrapper.plan`.
Plan: TypeAlias = tuple[Any, ...]


def called(form: Form, call: Call, variant: Variant, device: Any) -> Called:
    """Return what profiles want to know of calls."""
    return Called(form.kernel, variant.kernel, variant.program, call.sizes, form.target, device)


def fixed_values(call: Call, variant: Variant) -> dict[str, int]:
    """Return the sizes, and the values of hidden arguments."""
    hidden = {hidden.name: value_of_hidden(hidden, call.places) for hidden in variant.hidden}
    return {**call.sizes, **hidden}


def changing(form: Form) -> list[str]:
    """Return the names of what changes from call to call, in the order in which it is passed."""
    return [arg.name for arg in (*form.arrays, *form.allocated)] + list(form.scalars)


def places(
    form: Form, call: Call, variant: Variant, alignment: Callable[[ArrayInfo], int]
) -> dict[str, Any]:
    """Return what a wrapper that looks at addresses may ask for about them.

    Parameters:
        form: the form of the call.
        call: the call.
        variant: its code.
        alignment: returns what the address of an array has to be a multiple of by its type.
    """
    plan: dict[str, Any] = {}
    declared = {arg.name: arg.alignment or 1 for arg in form.arrays}
    for name, array in call.arrays.items():
        size, (low, high) = array.dtype.itemsize, array.reach
        plan[f"pg_low_{name}"] = low * size
        plan[f"pg_high_{name}"] = (high + 1) * size
        # Where an empty array begins does not matter.
        plan[f"pg_mask_{name}"] = max(declared[name], alignment(array)) - 1 if array.size else 0
    for arg in (*form.arrays, *form.allocated):
        if not isinstance(arg.offset, Auto) and arg.offset != 0:
            size = variant.dtypes[arg.name].itemsize
            plan[f"pg_before_{arg.name}"] = value_of(arg.offset, call.sizes) * size
    return plan
