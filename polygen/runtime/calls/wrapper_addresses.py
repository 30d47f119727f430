"""Wrappers of calls that look at the addresses of arrays."""

from __future__ import annotations

from collections.abc import Iterator

from polygen.ir.array import GlobalArg
from polygen.ir.layout import Auto
from polygen.runtime.calls.call_wrapper import Writer, local


class AddressWriter(Writer):
    """Writes what targets have in common whose code is passed addresses."""

    def places(self) -> list[str]:
        """Return the names of what a plan has about the places of arrays."""
        arrays = (*self.form.arrays, *self.form.allocated)
        names = [f"pg_before_{arg.name}" for arg in arrays if _begins_later(arg)]
        names += [f"pg_{end}_{name}" for name in self.compared() for end in ("low", "high")]
        return [*names, *(f"pg_mask_{arg.name}" for arg in self.form.arrays)]

    def check_places(self) -> Iterator[str]:
        """Yield checks of the addresses of arrays."""
        if self.form.arrays:
            yield f"if {' | '.join(map(_misaligned, self.form.arrays))}:"
            yield "    pg_raise_misaligned()"
        for name, other in self.pairs():
            before = "pg_at_{0} + pg_low_{0} < pg_at_{1} + pg_high_{1}"
            both = f"{before.format(name, other)} and {before.format(other, name)}"
            yield from self.check_apart(both, name, other)

    def number(self, name: str) -> str:
        """Return a scalar as a number of Python's."""
        return f"{local(name)}.item()" if name in self.form.numpy_scalars else local(name)


def begin(arg: GlobalArg) -> str:
    """Return the address that generated code is passed."""
    at = f"pg_at_{arg.name}"
    return f"{at} - pg_before_{arg.name}" if _begins_later(arg) else at


def _misaligned(arg: GlobalArg) -> str:
    """Return the bits of that address that should not be there."""
    address = f"({begin(arg)})" if _begins_later(arg) else begin(arg)
    return f"{address} & pg_mask_{arg.name}"


def _begins_later(arg: GlobalArg) -> bool:
    """Tell whether an array has a declared offset: the first element is not where it begins."""
    return arg.offset != 0 and not isinstance(arg.offset, Auto)
