"""CuPy without a GPU: its memory is the host's, and NumPy does the mathematics.

cuBLAS and cuSOLVER are here functions of pointers to matrices by columns, as NVIDIA's pages define
them: they check sizes and leading dimensions as these do, and on which stream they are.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any, cast

import numpy as np

_TYPES = {
    "s": np.dtype(np.float32),
    "d": np.dtype(np.float64),
    "c": np.dtype(np.complex64),
    "z": np.dtype(np.complex128),
}
BLAS, SOLVER = 1001, 1002  # handles


class Array(np.ndarray[Any, Any]):
    """CuPy's array: it says where it is, and is made of a place in memory."""

    def __new__(cls, shape: Any, dtype: Any, place: int, strides: Any) -> Any:
        return at(place, shape, dtype, strides).view(cls)

    @property
    def data(self) -> Any:
        return SimpleNamespace(ptr=self.ctypes.data)


class _Seen:
    def __init__(self, address: int, shape: Any, dtype: Any, strides: Any) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": tuple(shape),
            "strides": strides,
            "typestr": np.dtype(dtype).str,
        }


def at(address: int, shape: Any, dtype: Any, strides: Any = None) -> Any:
    """Return an array of what lies at an address."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(_Seen(address, shape, dtype, strides))


def _number(address: int, dtype: Any) -> Any:
    return at(address, (1,), dtype)[0]


def _matrix(address: int, rows: int, columns: int, leading: int, dtype: Any) -> Any:
    assert address
    assert leading >= max(1, rows), "the leading dimension is too small"
    return at(address, (rows, columns), dtype, (dtype.itemsize, leading * dtype.itemsize))


def _vector(address: int, count: int, step: int, dtype: Any) -> Any:
    assert address
    assert step >= 1
    return at(address, (count,), dtype, (step * dtype.itemsize,))


def _taken(x: Any, code: int) -> Any:
    return (x, x.T, x.conj().T)[code]


class FakeCuPy:
    """CuPy and its functions of cuBLAS and cuSOLVER.

    Attributes:
        stream: the stream that is current.
        of_handles: the stream of each handle.
        calls: the names of the functions that were called, with the stream of each.
        mode: where cuBLAS takes numbers from: 0 is the host.
    """

    def __init__(self) -> None:
        self.stream = 0
        self.of_handles = {BLAS: -1, SOLVER: -1}
        self.calls: list[tuple[str, int]] = []
        self.mode = 1

    def modules(self) -> dict[str, ModuleType]:
        """Return the modules, by name."""
        cupy, blas, solver = (ModuleType(name) for name in ("cupy", "cublas", "cusolver"))
        for name in ("eye", "where", "zeros", "empty"):
            setattr(cupy, name, _as_cupy(getattr(np, name)))
        cupy.tri = lambda n, dtype: np.tri(n, dtype=dtype).view(Array)  # type: ignore[attr-defined]
        cupy.fft = np.fft  # type: ignore[attr-defined]
        cupy.ndarray = Array  # type: ignore[attr-defined]
        cupy.cuda = SimpleNamespace(  # type: ignore[attr-defined]
            UnownedMemory=_memory,
            MemoryPointer=_pointer,
            Device=lambda: SimpleNamespace(id=0, cublas_handle=BLAS, cusolver_handle=SOLVER),
            get_current_stream=lambda: SimpleNamespace(ptr=self.stream),
            Stream=SimpleNamespace(from_external=self._external),
        )
        for module in (blas, solver):
            module.setStream = self._set_stream  # type: ignore[attr-defined]
        blas.getPointerMode = lambda handle: self.mode  # type: ignore[attr-defined]
        blas.setPointerMode = self._set_mode  # type: ignore[attr-defined]
        for letter, dtype in _TYPES.items():
            for name in ("gemm", "gemv", "syrk", "trsm"):
                setattr(blas, letter + name, self._function(letter + name, name, BLAS, dtype))
            for name in ("potrf", "getrf", "getrs", "potrf_bufferSize", "getrf_bufferSize"):
                function = self._function(letter + name, name, SOLVER, dtype)
                setattr(solver, letter + name, function)
        libs = "cupy_backends.cuda.libs"
        return {"cupy": cupy, f"{libs}.cublas": blas, f"{libs}.cusolver": solver}

    def _external(self, stream: Any) -> Any:
        fake, address = self, stream.__cuda_stream__()[1]

        class Current:
            def __enter__(self) -> None:
                self.before, fake.stream = fake.stream, address

            def __exit__(self, *_: object) -> None:
                fake.stream = self.before

        return Current()

    def _set_stream(self, handle: int, stream: int) -> None:
        self.of_handles[handle] = stream

    def _set_mode(self, handle: int, mode: int) -> None:
        assert handle == BLAS
        self.mode = mode

    def _function(self, shown: str, name: str, handle: int, dtype: Any) -> Any:
        run = getattr(self, f"_{name}")

        def call(given: int, *arguments: int) -> Any:
            assert given == handle
            assert self.of_handles[handle] == self.stream, "the handle is on another stream"
            assert handle == SOLVER or self.mode == 0
            assert all(type(x) is int and x < 2**63 for x in arguments)
            self.calls.append((shown, self.stream))
            return run(dtype, *arguments)

        return call

    # --- cuBLAS

    def _gemm(
        self, t: Any, op_a: int, op_b: int, m: int, n: int, k: int, alpha: int, *rest: int
    ) -> None:
        a, lda, b, ldb, beta, c, ldc = rest
        first = _taken(_matrix(a, *((m, k) if op_a == 0 else (k, m)), lda, t), op_a)
        second = _taken(_matrix(b, *((k, n) if op_b == 0 else (n, k)), ldb, t), op_b)
        _add(_matrix(c, m, n, ldc, t), _number(alpha, t) * (first @ second), _number(beta, t))

    def _gemv(self, t: Any, op: int, m: int, n: int, alpha: int, *rest: int) -> None:
        a, lda, x, step_x, beta, y, step_y = rest
        taken = _taken(_matrix(a, m, n, lda, t), op)
        known = _vector(x, taken.shape[1], step_x, t)
        out = _vector(y, taken.shape[0], step_y, t)
        _add(out, _number(alpha, t) * (taken @ known), _number(beta, t))

    def _syrk(self, t: Any, uplo: int, op: int, n: int, k: int, alpha: int, *rest: int) -> None:
        a, lda, beta, c, ldc = rest
        assert op in (0, 1), "cuBLAS has no other update"
        taken = _taken(_matrix(a, *((n, k) if op == 0 else (k, n)), lda, t), op)
        out = _matrix(c, n, n, ldc, t)
        new = out.copy()
        _add(new, _number(alpha, t) * (taken @ taken.T), _number(beta, t))
        half = _half(n, uplo)
        out[half] = new[half]

    def _trsm(
        self, t: Any, side: int, uplo: int, op: int, diag: int, m: int, n: int, *rest: int
    ) -> None:
        alpha, a, lda, b, ldb = rest
        order = m if side == 0 else n
        whole = _only(_half(order, uplo), _matrix(a, order, order, lda, t))
        if diag:
            np.fill_diagonal(whole, 1)
        known, taken = _matrix(b, m, n, ldb, t), _taken(whole, op)
        right = _number(alpha, t) * known
        if side == 0:
            known[...] = np.linalg.solve(taken, right)
        else:
            known.T[...] = np.linalg.solve(taken.T, right.T)

    # --- cuSOLVER

    def _potrf_bufferSize(self, t: Any, uplo: int, n: int, a: int, lda: int) -> int:  # noqa: N802
        _matrix(a, n, n, lda, t)
        return 3 + uplo

    def _potrf(
        self, t: Any, uplo: int, n: int, a: int, lda: int, space: int, size: int, info: int
    ) -> None:
        matrix, half = _matrix(a, n, n, lda, t), _half(n, uplo)
        at(space, (size,), t)[...] = 7
        lower = _only(half, matrix)
        lower = lower.conj().T if uplo else lower
        whole = lower + np.tril(lower, -1).conj().T
        for count in range(1, n + 1):
            try:
                np.linalg.cholesky(whole[:count, :count])
            except np.linalg.LinAlgError:
                at(info, (1,), np.int32)[0] = count
                return
        factor = cast("Any", np.linalg.cholesky(whole))
        matrix[half] = (factor.conj().T if uplo else factor)[half]
        at(info, (1,), np.int32)[0] = 0

    def _getrf_bufferSize(self, t: Any, m: int, n: int, a: int, lda: int) -> int:  # noqa: N802
        _matrix(a, m, n, lda, t)
        return 5

    def _getrf(
        self, t: Any, m: int, n: int, a: int, lda: int, space: int, pivots: int, info: int
    ) -> None:
        matrix, rows = _matrix(a, m, n, lda, t), at(pivots, (n,), np.int32)
        at(space, (5,), t)[...] = 7
        first = 0
        for k in range(n):
            best = k + int(np.argmax(np.abs(matrix[k:, k].real) + np.abs(matrix[k:, k].imag)))
            rows[k] = best + 1
            matrix[[k, best]] = matrix[[best, k]]
            if matrix[k, k] == 0:
                first = first or k + 1
                continue
            matrix[k + 1 :, k] /= matrix[k, k]
            matrix[k + 1 :, k + 1 :] -= np.outer(matrix[k + 1 :, k], matrix[k, k + 1 :])
        at(info, (1,), np.int32)[0] = first

    def _getrs(
        self, t: Any, op: int, n: int, count: int, a: int, lda: int, pivots: int, *rest: int
    ) -> None:
        b, ldb, info = rest
        assert op == 0
        factors, known = _matrix(a, n, n, lda, t), _matrix(b, n, count, ldb, t)
        for k, row in enumerate(at(pivots, (n,), np.int32) - 1):
            known[[k, row]] = known[[row, k]]
        if all(factors[k, k] != 0 for k in range(n)):
            lower = np.tril(factors, -1) + np.eye(n, dtype=t)
            known[...] = cast("Any", np.linalg.solve(lower, known))
            known[...] = cast("Any", np.linalg.solve(np.triu(factors), known))
        at(info, (1,), np.int32)[0] = 0


def _only(half: Any, matrix: Any) -> Any:
    """Return a matrix with 0 outside of a half."""
    return np.where(half, matrix, 0)


def _memory(ptr: int, size: int, owner: Any, device: int) -> int:
    assert size > 0
    assert owner is None
    assert device == 0
    return ptr


def _pointer(memory: int, offset: int) -> int:
    return memory + offset


def _as_cupy(function: Any) -> Any:
    def call(*arguments: Any, **more: Any) -> Any:
        found: Any = np.asarray(function(*arguments, **more))
        return found.view(Array)

    return call


def _add(out: Any, value: Any, beta: Any) -> None:
    out[...] = value if beta == 0 else value + beta * out


def _half(n: int, uplo: int) -> Any:
    return np.tri(n, dtype=bool) if uplo == 0 else np.tri(n, dtype=bool).T
