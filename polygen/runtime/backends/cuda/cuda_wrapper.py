"""Wrappers of calls that start CUDA's functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polygen.runtime.backends.cuda.cuda_arrays import POLYGEN, CudaLibrary
from polygen.runtime.calls.arguments import Form
from polygen.runtime.calls.call_wrapper import RUN, Writer, local
from polygen.runtime.calls.wrapper_addresses import AddressWriter, begin


class _CudaWriter(AddressWriter):
    """Starts CUDA functions on arrays in a GPU's memory."""

    def __init__(self, form: Form) -> None:
        super().__init__(form)
        self._libraries = cuda_libraries(form)
        # New arrays are like the first that is passed.
        self._first = form.arrays[0].name if form.arrays else None
        self._like = POLYGEN if self._first is None else self._libraries[self._first]

    def plan(self) -> list[str]:
        return [*super().plan(), *self.places()]

    def find_queue(self) -> list[str]:
        arrays = [arg.name for arg in self.form.arrays if self._libraries[arg.name].is_seen]
        first = "pg_no_stream" if self._first is None else f"pg_stream_{self._first}"
        address = self._like.stream[1].format("pg_owner")
        return [
            "pg_at = pg_device()",
            f"pg_owner = {first}(pg_at) if queue is None else queue",
            f"pg_stream = {address} if queue is None else pg_stream_of(queue)",
            *(f"pg_seen_{name} = pg_see_{name}({local(name)}, pg_stream)" for name in arrays),
        ]

    def _seen(self, name: str) -> str:
        return f"pg_seen_{name}" if self._libraries[name].is_seen else local(name)

    def key(self) -> list[str]:
        parts = ["pg_at"]
        for name, library in self._libraries.items():
            parts += [part.format(self._seen(name)) for part in library.key]
        return [*parts, *self.sizes]

    def allocator(self) -> str:
        return f"{'None' if self._first is None else local(self._first)}, pg_stream"

    def find_data(self) -> Iterator[str]:
        for name, library in self._libraries.items():
            yield f"pg_at_{name} = {library.place.format(self._seen(name))}"
            if library.is_seen and name in self.written:
                yield f"if pg_seen_{name}.read_only:"
                yield f"    pg_raise_read_only({name!r})"
        for arg in self.form.allocated:
            yield f"pg_at_{arg.name} = {self._like.place.format(local(arg.name))}"
        yield from self.check_places()

    def run(self) -> Iterator[str]:
        yield "for pg_event in wait_for or ():"
        yield "    pg_wait_on(pg_stream, pg_event)"
        for name in (name for name, library in self._libraries.items() if library.is_seen):
            yield f"if pg_seen_{name}.stream is not None:"
            yield f"    pg_wait_on_stream(pg_stream, pg_seen_{name}.stream)"
        values = [begin(arg) for arg in (*self.form.arrays, *self.form.allocated)]
        values += [self.number(name) for name in self.form.scalars]
        yield f"pg_event = {RUN}({', '.join(['pg_stream', 'pg_owner', *values])})"


def cuda_libraries(form: Form) -> Mapping[str, CudaLibrary]:
    """Return the libraries of the arrays that are passed, all of which are in a GPU's memory."""
    return {n: found for n, found in form.libraries.items() if isinstance(found, CudaLibrary)}


def cuda_writer(form: Form) -> Writer:
    """Return what writes the lines of a wrapper that are this target's."""
    return _CudaWriter(form)
