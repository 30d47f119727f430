"""Arrays that a function makes and does not return, as temporaries of its kernel.

t = np.empty(n)                        t: a temporary, which a schedule may make a scalar
for i in range(n): t[i] = 2*x[i]   ->
for i in range(n): y[i] = t[i]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from polygen.analysis.wellformed.all_obligations import obligations
from polygen.analysis.wellformed.obligations import WRITTEN
from polygen.errors import UninitializedRead
from polygen.ir.kernel import Kernel
from polygen.python.tracer import Result, Traced


def with_temporaries(traced: Traced, make: Callable[[], Kernel]) -> Kernel:
    """Return a kernel whose temporaries are the arrays that nobody reads after it.

    An array of which an element may be read before it is written stays one of the caller's.

    Parameters:
        traced: the block; the roles of its arrays are changed.
        make: makes the kernel.
    """
    returned = set(_names(traced.results.values())) | {traced.nodes.fault}
    unread = [
        storage
        for storage in traced.nodes.storages.values()
        if storage.role == "made" and not storage.zeros and storage.name not in returned
    ]
    for storage in unread:
        storage.role = "temporary"
    while True:
        try:
            kernel = make()
        except UninitializedRead as error:
            left = [s for s in unread if s.role == "temporary" and f"'{s.name}'" in error.what]
            if not left:
                raise
        else:
            temporary = {s.name for s in unread if s.role == "temporary"}
            doubtful = {o.array for o in obligations(kernel) if o.kind == WRITTEN} & temporary
            if not doubtful:
                return kernel
            left = [s for s in unread if s.name in doubtful]
        for storage in left:
            storage.role = "made"


def _names(results: Iterable[Result]) -> Iterable[str]:
    for result in results:
        yield result.name
        yield from _names(result.parts)
