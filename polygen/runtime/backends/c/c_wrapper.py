"""Wrappers of calls of C functions."""

from __future__ import annotations

from collections.abc import Iterator

from polygen.ir.array import GlobalArg, ValueArg
from polygen.runtime.arrays.separate_arrays import passed_arguments
from polygen.runtime.calls.arguments import Form
from polygen.runtime.calls.call_wrapper import RUN, Writer, local
from polygen.runtime.calls.wrapper_addresses import AddressWriter, begin


class _CWriter(AddressWriter):
    """Runs a C function on NumPy arrays."""

    def plan(self) -> list[str]:
        sizes = [
            f"pg_size_{arg.name}"
            for arg in self.form.kernel.arguments
            if isinstance(arg, ValueArg)
            and self.is_passed(arg)
            and arg.name not in self.form.scalars
        ]
        return [*super().plan(), *sizes, *self.places(), "pg_hidden"]

    def key(self) -> list[str]:
        arrays = map(local, (arg.name for arg in self.form.arrays))
        parts = [f"{name}.{what}" for name in arrays for what in ("dtype", "shape", "strides")]
        return [*parts, *self.sizes]

    def find_data(self) -> Iterator[str]:
        for arg in (*self.form.arrays, *self.form.allocated):
            name = local(arg.name)
            interface = f'{name}.__array_interface__["data"]'
            if arg in self.form.arrays and arg.name in self.written:
                yield f"pg_at_{arg.name}, pg_read_only = {interface}"
                yield "if pg_read_only:"
                yield f"    pg_raise_read_only({arg.name!r})"
            else:
                yield f"pg_at_{arg.name} = {interface}[0]"
        yield from self.check_places()

    def run(self) -> Iterator[str]:
        yield "for pg_event in wait_for or ():"
        yield "    pg_wait_here(pg_event)"
        arguments = passed_arguments(self.form.kernel)
        values = [self._value(arg) for arg in arguments if self.is_passed(arg)]
        yield f"{RUN}({', '.join([*values, '*pg_hidden'])})"
        yield "pg_event = pg_finished"

    def _value(self, arg: GlobalArg | ValueArg) -> str:
        if isinstance(arg, GlobalArg):
            return begin(arg)
        if arg.name in self.form.scalars:
            return self.number(arg.name)
        return f"pg_size_{arg.name}"


def c_writer(form: Form) -> Writer:
    """Return what writes the lines of a wrapper that are this target's."""
    return _CWriter(form)
