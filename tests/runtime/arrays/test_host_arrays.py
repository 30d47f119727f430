"""Arrays of other libraries in the host's memory, by their protocols."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    ObligationViolated,
    OverlappingArguments,
    ReadOnlyOutput,
    WrongArgumentType,
    WrongShape,
)
from polygen.ir.dtype import to_dtype


class Exported:
    """An array of a library that has DLPack: NumPy's own capsules."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __dlpack__(self, **asked: Any) -> Any:
        return self.data.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()

    def __array_namespace__(self) -> Any:
        return types.SimpleNamespace(from_dlpack=from_dlpack)


class Older:
    """One that cannot say whether it may be written, and has no array API."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.data.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()


class Elsewhere(Exported):
    """One on a device that polygen does not know."""

    def __dlpack_device__(self) -> Any:
        return 10, 0  # ROCm

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("device 10 is not the host")


class Interface:
    """One that has NumPy's interface alone."""

    def __init__(self, data: Any) -> None:
        self.data = data

    @property
    def __array_interface__(self) -> Any:
        return self.data.__array_interface__


def from_dlpack(array: Any) -> Any:
    assert array.dtype != bool, "this library has no truth values"
    return Exported(np.from_dlpack(array))


def doubling(**options: Any) -> pg.Kernel:
    return pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", **options)


@pytest.mark.parametrize("kind", [Exported, Older, Interface])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_inputs_are_read_where_they_are(kind: type, n: int) -> None:
    a = np.arange(2.0 * n)[::2]
    knl = doubling()
    for _ in range(2):
        _, (out,) = knl(a=kind(a))
        values = out.data if isinstance(out, Exported) else out
        np.testing.assert_array_equal(values, 2 * a)
        a += 1  # what was kept is not used again
    assert type(out) is (Exported if kind is Exported else np.ndarray)


@pytest.mark.parametrize("kind", [Exported, Interface])
def test_outputs_are_written_in_place(kind: type) -> None:
    a, out = np.arange(5, dtype=np.float32), np.zeros((5, 2), np.float32)
    given = kind(out[:, 1])
    _, (found,) = doubling()(a=kind(a), out=given)
    assert found is given
    np.testing.assert_array_equal(out, np.stack([np.zeros(5), 2 * a], axis=1))


def test_new_arrays_are_of_the_first_ones_library() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "s[i] = a[i] + b[i]\nd[i] = a[i] - b[i]")
    knl = pg.set_options(knl, return_dict=True)
    a, b = np.arange(4), np.ones(4, int)
    _, found = knl(b=b, a=Exported(a))
    assert {name: type(array) for name, array in found.items()} == {"s": Exported, "d": Exported}
    np.testing.assert_array_equal(found["s"].data, a + b)
    np.testing.assert_array_equal(found["d"].data, a - b)
    given = np.zeros(4, int)
    _, found = knl(a=a, b=Exported(b), d=given)
    assert found["d"] is given
    assert isinstance(found["s"], np.ndarray)


def test_on_a_device_they_are_copied() -> None:
    knl = pg.split_iname(doubling(), "i", 4, outer_tag="g.0", inner_tag="l.0")
    run = knl.executor("opencl")
    a, out = np.arange(6.0), np.zeros(6)
    _, (found,) = run(a=Exported(a))
    np.testing.assert_array_equal(found.data, 2 * a)
    given = Exported(out)
    _, (found,) = run(a=Interface(a), out=given)
    assert found is given
    np.testing.assert_array_equal(out, 2 * a)


def test_what_is_refused_of_numpys_is_refused() -> None:
    knl, a = doubling(), np.arange(4.0)
    fixed = np.zeros(4)
    fixed.flags.writeable = False
    for output in (Exported(fixed), Interface(fixed), Older(np.zeros(4))):
        with pytest.raises(ReadOnlyOutput, match="'out' is written, and the array"):
            knl(a=a, out=output)
    with pytest.raises(OverlappingArguments, match="'out' and 'a' overlap"):
        knl(a=Exported(a[1:]), out=Exported(a[:3]))
    with pytest.raises(WrongShape, match="2 axes, where"):
        knl(a=Exported(np.zeros((2, 2))))
    gather = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[idx[i]]")
    with pytest.raises(ObligationViolated, match=r"needs a\[9\]"):
        gather(a=Exported(a), idx=Exported(np.array([0, 9])), check_assumptions=True)
    _, (found,) = gather(a=Exported(a), idx=Exported(np.array([2, 3])), check_assumptions=True)
    assert found.data.tolist() == [2, 3]


def test_what_cannot_be_seen() -> None:
    knl = doubling()
    with pytest.raises(
        WrongArgumentType,
        match="'a' is of type Elsewhere, and cannot be used where it is: device 10 is not the host",
    ):
        knl(a=Elsewhere(np.zeros(3)))
    scalar = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = s*a[i]")
    with pytest.raises(WrongArgumentType, match="'s'"):
        scalar(a=np.zeros(3), s=Exported(np.zeros(())))
    with pytest.raises(WrongArgumentType, match="it is the number 2"):
        knl(a=np.float64(2))


def test_a_library_that_does_not_take_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise BufferError("no such type")

    monkeypatch.setattr(sys.modules[__name__], "from_dlpack", refuse)
    message = "'out' is computed, and the library of Exported takes no array of float64: no such"
    with pytest.raises(WrongArgumentType, match=message):
        doubling()(a=Exported(np.zeros(3)))


def test_arguments_that_are_several_arrays() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<2 }", "b[i,j] = 2*a[i,j]")
    knl = pg.prioritize_loops(pg.tag_inames(knl, {"j": "unr"}), "i,j")
    knl = pg.tag_array_axes(knl, "a,b", "N0,sep")
    a = np.arange(6.0).reshape(2, 3)
    _, (found,) = knl(a=(Exported(a[0]), Exported(a[1])))
    assert [type(part) for part in found] == [Exported, Exported]
    assert [part.data.tolist() for part in found] == (2 * a).tolist()


# --- PyTorch's, which are known by name


BFLOAT16 = to_dtype("bfloat16")


class Tensor:
    """What polygen asks of PyTorch's arrays, by PyTorch's documentation."""

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        self.data, self.requires_grad, self.is_cuda = data, requires_grad, False

    @property
    def dtype(self) -> Any:
        return BFLOAT16 if self.data.dtype == BFLOAT16 else self.data.dtype

    def view(self, dtype: Any) -> Tensor:
        return Tensor(self.data.view(dtype))

    def numpy(self) -> Any:
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.dtype is BFLOAT16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.data

    def __dlpack__(self) -> Any:
        raise AssertionError("its capsules do not say whether they may be written")


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for PyTorch."""
    module: Any = types.ModuleType("torch")
    module.Tensor, module.from_numpy = Tensor, Tensor
    module.bfloat16, module.int16 = BFLOAT16, np.dtype(np.int16)
    monkeypatch.setitem(sys.modules, "torch", module)


def test_tensors(torch: None) -> None:
    knl, a = doubling(), np.arange(5, dtype=np.float32)
    _, (out,) = knl(a=Tensor(a))
    assert type(out) is Tensor
    np.testing.assert_array_equal(out.data, 2 * a)
    given = Tensor(np.zeros(5, np.float32))
    _, (found,) = knl(a=Tensor(a[::-1]), out=given)
    assert found is given
    np.testing.assert_array_equal(given.data, 2 * a[::-1])
    with pytest.raises(WrongArgumentType, match="where it is: Can't call numpy"):
        knl(a=Tensor(a, requires_grad=True))


def test_tensors_of_bfloat16(torch: None) -> None:
    a = np.arange(5).astype(BFLOAT16)
    knl = pg.make_kernel("{ [i]: 0<=i<5 }", "out[i] = a[4 - i]")
    _, (out,) = pg.add_dtypes(knl, {"out": BFLOAT16})(a=Tensor(a))
    assert type(out) is Tensor
    assert out.dtype is BFLOAT16
    np.testing.assert_array_equal(out.data, a[::-1])
