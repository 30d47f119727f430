"""What Loo.py's scripts are used to: data is trusted, types, functions and sums in its form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.compat as lp
from polygen.compat.callables import ScalarCallable
from polygen.compat.kernel.data import GlobalArg
from polygen.compat.types import NumpyType, to_loopy_type


def scattered(**options: Any) -> Any:
    """Return a kernel whose iterations write what data says."""
    data = [lp.GlobalArg("x", np.float64, "m"), lp.GlobalArg("p", np.int32, "n"), ...]
    return lp.make_kernel("{ [i]: 0<=i<n }", "x[p[i]] = 2*i", data, **options)


def test_what_data_decides_is_taken_on_the_users_word() -> None:
    with pytest.warns(pg.errors.TakenOnTrust, match=r"which elements of 'x' are touched") as said:
        knl = lp.tag_inames(scattered(), "i: g.0")
    assert len(said) == 1
    assert said[0].filename == __file__
    assert "unsafe=True" in knl.default_entrypoint.claims[0]
    p = np.random.default_rng(3).permutation(7).astype(np.int32)
    _, (x,) = knl(x=np.zeros(7), p=p)
    np.testing.assert_array_equal(x[p], 2.0 * np.arange(7))


def test_trust_is_an_option() -> None:
    quiet = lp.set_options(scattered(), silenced_warnings=["TakenOnTrust"])
    assert lp.tag_inames(quiet, "i: g.0").default_entrypoint.claims
    with pytest.raises(pg.errors.CannotProve, match="assume_injective"):
        lp.tag_inames(lp.set_options(scattered(), trust_data=False), "i: g.0")


def test_what_is_wrong_for_all_data_is_refused() -> None:
    knl = lp.make_kernel("{ [i]: 0<=i<n }", "x[0] = 2*i", [lp.GlobalArg("x", np.float64, 1), ...])
    with pytest.raises(pg.errors.IllegalStep, match=r"insn\[i=0\]"):
        lp.tag_inames(knl, "i: g.0")


def test_instructions_may_be_changed() -> None:
    knl = lp.make_kernel("{ [i]: 0<=i<n }", "x[i] = 2*a[i]  {id=twice}")
    with pytest.warns(pg.errors.ChangedMeaning, match=r"would compute 2\*a\[i\]/4"):
        new = lp.map_instructions(knl, "id:twice", lambda s: s.copy(expression=s.expression / 4))
    _, (x,) = new(a=np.arange(5.0))
    np.testing.assert_array_equal(x, np.arange(5.0) / 2)
    same = lp.map_instructions(knl, "id:twice", lambda insn: insn)  # warnings are errors
    assert same.default_entrypoint.claims == ()


def test_types_have_the_attribute_that_scripts_ask_for() -> None:
    knl = lp.make_kernel(
        "{ [i]: 0<=i<n }",
        "<float32> t = x[i]\nout[i] = t",
        [lp.GlobalArg("x", np.float64, "n"), ...],
    )
    kernel: Any = lp.add_dtypes(knl, {"out": np.complex64}).default_entrypoint
    assert kernel.arg_dict["x"].dtype.numpy_dtype == np.float64
    assert kernel.arg_dict["out"].dtype.is_complex()
    assert not kernel.arg_dict["out"].dtype.is_integral()
    assert kernel.temporary_variables["t"].dtype == np.float32
    assert kernel.arg_dict["x"].dtype.itemsize == 8
    assert kernel.arg_dict["n"].dtype is None or kernel.arg_dict["n"].dtype.is_integral()
    assert isinstance(kernel.arg_dict["x"], GlobalArg)
    assert isinstance(np.dtype("int32"), NumpyType)
    assert to_loopy_type(np.int32) == np.dtype("int32") == to_loopy_type("int32").numpy_dtype
    assert {to_loopy_type(np.int32): 1}[to_loopy_type("int32")] == 1
    again = lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*x[i]", kernel.args)
    of_polygen = next(a for a in kernel.arguments if a.name == "x")
    assert of_polygen in again.default_entrypoint.arguments
    wider = kernel.arg_dict["x"].copy(dtype=to_loopy_type(np.complex128))
    assert wider.dtype.is_complex()
    assert wider != kernel.arg_dict["x"] == of_polygen


def test_sums_of_products_are_programs() -> None:
    knl = lp.make_einsum("ij,jk->ik", ("a", "b"), lang_version=(2018, 2))
    assert knl.default_entrypoint.name == "einsum2to2_kernel"
    a, b = np.random.default_rng(1).random((2, 3, 3))
    knl = lp.add_dtypes(lp.prioritize_loops(knl, "i, k, j"), {"a": np.float64, "b": np.float64})
    _, (out,) = knl(a=a, b=b)
    np.testing.assert_allclose(out, a @ b)
    named = lp.make_einsum("i->", ["a"], name="total", target=lp.ExecutableCTarget())
    assert (named.default_entrypoint.name, named.default_entrypoint.target) == ("total", "c")


class Limiter(ScalarCallable):
    """minmod(a, b), for two types."""

    def with_types(self, arg_id_to_dtype: Any, callables_table: Any) -> Any:
        """Return the function of these types."""
        dtype = arg_id_to_dtype[0].numpy_dtype
        if dtype.kind != "f":
            raise lp.LoopyError("minmod is of real numbers")
        types = {i: to_loopy_type(dtype) for i in (0, 1, -1)}
        name = f"minmod_{dtype.name}"
        return self.copy(name_in_target=name, arg_id_to_dtype=types), callables_table

    def generate_preambles(self, target: Any) -> Any:
        """Return its code."""
        assert isinstance(target, lp.TargetBase)
        real = "float" if self.name_in_target == "minmod_float32" else "double"
        yield (
            f"10_{self.name_in_target}",
            f"static inline {real} {self.name_in_target}({real} a, {real} b)\n"
            "{ return a * b <= 0 ? 0 : fabs(a) < fabs(b) ? a : b; }",
        )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_functions_that_say_their_types(dtype: str) -> None:
    data = [lp.GlobalArg("u, s", shape="n"), ...]
    knl = lp.make_kernel("{ [i]: 1<=i<n-1 }", "s[i] = minmod(u[i+1] - u[i], u[i] - u[i-1])", data)
    knl = lp.assume(lp.register_callable(knl, "minmod", Limiter("minmod")), "n >= 3")
    u = np.random.default_rng(4).normal(size=43).astype(dtype)
    slopes = np.zeros_like(u)
    knl(u=u, s=slopes)
    right, left = u[2:] - u[1:-1], u[1:-1] - u[:-2]
    smaller = np.where(np.abs(right) < np.abs(left), right, left)
    np.testing.assert_array_equal(slopes[1:-1], np.where(right * left <= 0, 0, smaller))


def test_functions_that_are_there_stay() -> None:
    knl = lp.make_kernel("{ [i]: 0<=i<n }", "y[i] = cos(x[i])")
    assert lp.register_callable(knl, "cos", Limiter("cos")) is knl


def test_functions_that_take_nothing() -> None:
    class Nothing(ScalarCallable):
        """It does not say what it is called."""

    knl = lp.make_kernel("{ [i]: 0<=i<n }", "y[i] = f(x[i])")
    with pytest.raises(pg.errors.InvalidArgument, match=r"'f' says of no type of its 1 arguments"):
        lp.register_callable(knl, "f", Nothing("f"))


def test_polygens_own_functions() -> None:
    twice = lp.ScalarCallable({"twice": "float64 -> float64"}, "double twice(double x);")
    assert isinstance(twice, pg.ScalarCallable)
    assert twice.preamble("c") == "double twice(double x);"


def test_sizes_may_decide_how_many_work_items_there_are() -> None:
    knl = lp.make_einsum("eij,ejk->eik", ("a", "b"))
    knl = lp.add_dtypes(knl, {"a": np.float64, "b": np.float64})
    knl = lp.tag_inames(knl, {"e": "g.0", "i": "l.1", "k": "l.0"})
    for n in (1, 3, 7):
        a, b = np.random.default_rng(n).random((2, 4, n, n))
        _, (out,) = knl.executor("opencl")(a=a, b=b)
        np.testing.assert_allclose(out, a @ b)
    with pytest.raises(pg.errors.LocalSizeNotConstant, match=r"'k' is tagged l\.0"):
        lp.generate_code_v2(knl)
    with pytest.raises(pg.errors.LocalSizeNotConstant, match=r"'k' is tagged l\.0"):
        lp.set_options(knl, fix_group_sizes=False).executor("opencl")(a=a, b=b)
