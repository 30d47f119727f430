"""What devices may not have, of devices that are described here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import DeviceLacks
from polygen.ir.kernel import Kernel
from polygen.runtime.backends.opencl.opencl_lacks import check_extensions, check_sub_groups


@dataclass
class Device:
    """As much of pyopencl's as is asked for."""

    extensions: str = ""
    double_fp_config: int = 0
    name: str = "small"


def code(text: str, dtype: Any, **options: Any) -> Any:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<32 }", text, name="k")
    knl = pg.tag_inames(pg.add_dtypes(knl, {"a": dtype}), {"i": "g.0", "j": "l.0"})
    return pg.generate_code(pg.set_options(knl, **options), "opencl")


SUM = "b[i] = sum(j, a[i,j])"
ATOMIC = "b[j] = b[j] + a[i,j]  {atomic}"
LARGEST = "b[j] = max(b[j], a[i,j])  {atomic}"
CASES: dict[str, tuple[str, Any, dict[str, Any], dict[str, str]]] = {
    "double": (
        SUM,
        "float64",
        {},
        {"cl_khr_fp64": "double precision (cl_khr_fp64), which kernel 'k' needs: 'a' is"},
    ),
    "complex": (SUM, "complex128", {}, {"cl_khr_fp64": "'a' is of type complex128"}),
    "a number": (
        "b[i] = sum(j, a[i,j])*float64(0.1)",
        "int32",
        {},
        {"cl_khr_fp64": "no numbers in double precision"},
    ),
    "atomic": (
        ATOMIC,
        "int64",
        {},
        {"cl_khr_int64_base_atomics": "no atomic updates of 64 bits (cl_khr_int64_base_atomics)"},
    ),
    "atomic, of two kinds": (
        LARGEST,
        "int64",
        {},
        {
            "cl_khr_int64_base_atomics": "no atomic updates of 64 bits",
            "cl_khr_int64_extended_atomics": "no atomic minima, maxima and bits of 64 bits",
        },
    ),
    "retried": (
        ATOMIC,
        "float64",
        {},
        {"cl_khr_fp64": "double", "cl_khr_int64_base_atomics": "atomic updates of 64 bits"},
    ),
    "sub-groups": (
        SUM,
        "float32",
        {"sub_group_size": 32},
        {
            "cl_khr_subgroups": "no sub-groups of work items (cl_khr_subgroups)",
            "cl_khr_subgroup_shuffle": "no reads of other work items' registers",
        },
    ),
    "plain": (SUM, "float32", {}, {}),
    "halves": (SUM, "float16", {}, {}),
    "atomic, of 32 bits": (ATOMIC, "float32", {}, {}),
}


@pytest.mark.parametrize(("text", "dtype", "options", "needed"), CASES.values(), ids=CASES)
def test_what_is_not_there(
    text: str, dtype: Any, options: dict[str, Any], needed: dict[str, str]
) -> None:
    program = code(text, dtype, **options)
    assert program.extensions == set(needed)
    check_extensions(Device(" ".join(needed)), program)
    for lacking, words in needed.items():
        assert f"#pragma OPENCL EXTENSION {lacking} : enable" in str(program)
        device = Device(" ".join(name for name in needed if name != lacking))
        with pytest.raises(DeviceLacks) as caught:
            check_extensions(device, program)
        assert words in caught.value.what
        assert caught.value.what.startswith("device 'small' has no ")
        assert "or run it on another device" in str(caught.value.remedy)
    check_extensions(Device(" ".join({*needed} - {"cl_khr_fp64"}), 63), program)  # since 1.2


def test_no_target_but_opencl_has_extensions() -> None:
    knl = pg.add_dtypes(pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]"), {"a": "float64"})
    assert (
        pg.generate_code(knl, "cuda").extensions == pg.generate_code(knl, "c").extensions == set()
    )


class Built:
    """A kernel of pyopencl's, on a device with sub-groups of some size."""

    def __init__(self, size: int) -> None:
        self._size = size

    def get_sub_group_info(self, device: Any, asked: int, group: list[int]) -> int:  # noqa: ARG002
        assert group == [32]
        return self._size


def test_sub_groups_of_another_size() -> None:
    program = code(SUM, "float32", sub_group_size=32)
    for size in (32, 64):
        check_sub_groups(Device(), program, Built(size), (32,))
    with pytest.raises(DeviceLacks, match="has sub-groups of 16 work items in groups of") as why:
        check_sub_groups(Device(), program, Built(16), (32,))
    assert why.value.remedy == "set_options(kernel, sub_group_size=16)"
    check_sub_groups(Device(), code(SUM, "float32", sub_group_size=16), Built(48), (32,))
    with pytest.raises(DeviceLacks, match="of 24 work items") as why:
        check_sub_groups(Device(), code(SUM, "float32", sub_group_size=16), Built(24), (32,))
    assert why.value.remedy == "set_options(kernel, sub_group_size=8)"
    check_sub_groups(Device(), code(SUM, "float32"), Built(16), (32,))


def test_a_call_says_so() -> None:
    """PoCL 3 has no sub-groups, and this is said before it compiles anything."""
    knl: Kernel = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<32 }", SUM, name="k")
    knl = pg.set_options(pg.tag_inames(knl, {"i": "g.0", "j": "l.0"}), sub_group_size=32)
    run = knl.executor("opencl")
    with pytest.raises(DeviceLacks, match=r"no reads of .* \(cl_khr_subgroup_shuffle\)"):
        run(a=np.zeros((2, 32), np.float32))
