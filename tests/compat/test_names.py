"""What `polygen.compat` says of every name of Loo.py's, of its modules and attributes."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
import polygen.compat as lp
from polygen.compat import symbolic
from polygen.compat._table import NOT_HERE
from polygen.errors import InvalidArgument, UnknownArgument

# All public names of Loo.py 2025.2, those that count operations apart.
NAMES = """
ASTBuilderBase AddressSpace ArrayArg Assignment AtomicInit AtomicUpdate BarrierInstruction
CFamilyTarget CInstruction CTarget CWithGNULibcTarget CacheMode CallInstruction CallMangleInfo
CallableKernel CodeGenerationResult ConstantArg CudaTarget ExecutableCTarget
ExecutableCWithGNULibcTarget ExecutorBase GeneratedProgram GlobalArg HappensAfter ISPCTarget
ImageArg InKernelCallable InstructionBase KernelArgument KernelState LegacyStringInstructionTag
LinearSubscript LoopKernel LoopyError LoopyType LoopyWarning MOST_RECENT_LANGUAGE_VERSION
MemoryOrdering MemoryScope MultiAssignmentBase NoOpInstruction NumpyType OpenCLTarget Optional
Options OrderedAtomic PreambleInfo PyOpenCLTarget Reduction ScalarCallable SubstitutionRule
TaggedVariable TargetBase TemporaryVariable ToLoopyTypeConvertible TranslationUnit TypeCast
UniqueName UseStreamingStoreTag VERSION ValueArg VarAtomicity add_and_infer_dtypes add_barrier
add_dependency add_dtypes add_inames_for_unused_hw_axes add_inames_to_insn add_nosync add_padding
add_prefetch affine_map_inames alias_temporaries allocate_temporaries_for_base_storage
assignment_to_subst assume auto auto_test_vs_ref buffer_array c_preprocess change_arg_to_image
chunk_iname clear_in_mem_caches collect_common_factors_on_increment concatenate_arrays
duplicate_inames expand_subst extract_subst find_instructions find_most_recent_global_barrier
find_one_rule_matching find_padding_multiple find_rules_matching find_unused_axis_tag
fix_parameters fold_constants for_each_kernel fuse_kernels generate_body generate_code
generate_code_v2 generate_header generate_loop_schedules get_dot_dependency_graph
get_global_barrier_order get_iname_duplication_options get_kennedy_unweighted_fusion_candidates
get_one_linearized_kernel get_one_scheduled_kernel get_subkernel_to_insn_id_map get_subkernels
has_schedulable_iname_nesting infer_arg_descr infer_unknown_types inline_callable_kernel
join_inames linearize make_copy_kernel make_einsum make_function make_kernel make_kernel
make_program make_reduction_inames_unique map_domain map_instructions memoize_on_disk merge
pack_and_unpack_args_for_call parse_fortran parse_transformed_fortran precompute preprocess_kernel
preprocess_program prioritize_loops privatize_temporaries_with_inames realize_reduction
register_callable register_preamble_generators register_reduction_parser register_symbol_manglers
remove_inames_from_insn remove_instructions remove_predicates_from_insn remove_unused_arguments
remove_unused_inames rename_argument rename_callable rename_iname rename_inames
rename_inames_in_batch replace_instruction_ids save_and_reload_temporaries set_argument_order
set_array_axis_names set_array_dim_names set_caching_enabled set_instruction_priority
set_temporary_address_space set_temporary_scope show_dependency_graph simplify_indices
split_arg_axis split_array_axis split_array_dim split_iname split_reduction_inward
split_reduction_outward t_unit_to_python tag_array_axes tag_data_axes tag_inames tag_instructions
to_batched to_loopy_type unprivatize_temporaries_with_inames untag_inames
"""


def twice(**more: Any) -> Any:
    return lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", **more)


def test_every_name_is_there_or_says_what_to_use() -> None:
    for name in NAMES.split():
        assert hasattr(lp, name) or len(NOT_HERE.get(name, "")) > 15, name
    assert not [name for name in NOT_HERE if hasattr(lp, name)]


def test_modules_have_what_is_in_one_place() -> None:
    module = importlib.import_module("polygen.compat.transform.iname")
    assert module.split_iname is lp.split_iname
    assert sys.modules["polygen.compat.transform"].iname is module
    for name in ("transform.iname", "symbolic", "match", "types", "diagnostic", "kernel.data"):
        module = importlib.import_module(f"polygen.compat.{name}")
        assert not hasattr(module, "__wrapped__")
        assert not hasattr(module, "pytest_plugins")
        with pytest.raises(AttributeError, match=r"no 'frobnicate': see docs/porting\.md"):
            _ = module.frobnicate
        with pytest.raises(ImportError, match="no 'AtomicType': write"):
            _ = module.AtomicType
    with pytest.raises(ImportError, match="map_instructions changes instructions"):
        _ = importlib.import_module("polygen.compat.symbolic").RuleAwareIdentityMapper


def test_mappers_go_through_what_pymbolic_does_not_know() -> None:
    knl = lp.make_kernel(
        "{ [i,j]: 0<=i,j<n }", ["f(x) := 2*x", "out[i] = sum(j, f(a[j]*i)) + b[i]"]
    )
    value = knl["loopy_kernel"].assignments[0].values[0]

    class Counting(symbolic.CombineMapper):
        def combine(self, values: Any) -> Any:
            return sum(values)

        def map_constant(self, expr: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002
            return 0

        def map_variable(self, expr: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ARG002
            return 1

    assert Counting()(value) == len(["a", "j", "i", "b", "i"])
    depends = symbolic.DependencyMapper(composite_leaves=False)
    assert {str(name) for name in depends(value)} == {"a", "b", "i"}
    assert symbolic.get_dependencies((value, 3)) == {"a", "b", "i"}
    assert symbolic.IdentityMapper()(value) is value
    moved = symbolic.SubstitutionMapper(lambda node: 5 if str(node) == "i" else None)(value)
    assert str(moved) == str(value).replace("i", "5")


def test_modules_by_their_names() -> None:
    for name in ("match", "symbolic", "types", "diagnostic", "kernel.data", "target.c", "typing"):
        module: Any = lp
        for part in name.split("."):
            module = getattr(module, part)
        assert module is sys.modules[f"polygen.compat.{name}"]
    kernel = importlib.import_module("polygen.compat.kernel")
    assert kernel.LoopKernel is lp.LoopKernel
    assert lp.match.Id("x") == "id:x"
    with pytest.raises(AttributeError, match="no 'frobnicate'"):
        _ = kernel.frobnicate


def _kernel() -> Any:
    return twice().default_entrypoint


ABSENT: list[tuple[Callable[[], Any], str]] = [
    (lambda: _kernel().frobnicate, r"'Kernel' object has no attribute 'frobnicate': see docs/port"),
    (lambda: _kernel().state, "'state': kernels are neither preprocessed nor scheduled"),
    (lambda: _kernel().get_inames_domain, r"isl's: knl\.domains\[0\]\.set"),
    (lambda: twice().temporary_variables, r"kernels have it: program\['name'\]"),
    (lambda: twice().instructions, r"kernels have it: program\['name'\]"),
    (lambda: twice().frobnicate, r"'TranslationUnit' object .* see docs/porting"),
    (lambda: _kernel().instructions[0].frobnicate, "'Assignment' object has no attribute"),
]


@pytest.mark.parametrize(("ask", "text"), ABSENT, ids=[text for _, text in ABSENT])
def test_what_kernels_do_not_have(ask: Callable[[], Any], text: str) -> None:
    with pytest.raises(AttributeError, match=text):
        ask()


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: lp.CTarget(fortran_abi=True), "not passed as in Fortran"),
    (lambda: lp.OpenCLTarget(frobnicate=1), "OpenCLTarget has no option 'frobnicate'"),
    (lambda: lp.BarrierInstruction("b", synchronization_kind="warp"), "of the kind 'warp'"),
    (lambda: lp.set_options(twice(), edit_code=True), "no option 'edit_code' here"),
    (lambda: lp.set_options(twice(), "edit_cl"), "no option 'edit_cl' here"),
    (lambda: lp.find_unused_axis_tag(twice(), "v"), "'v' is no kind of axis"),
    (lambda: twice().copy(name="other"), "another 'name' here"),
    (lambda: pg.ScalarCallable("f"), "made of 'f': it is not said what it takes"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "text"), REFUSED, ids=[text for _, text in REFUSED])
def test_refused(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(InvalidArgument, match=text) as caught:
        call()
    assert "test_names.py:" in str(caught.value)
    assert "remedy: " in str(caught.value)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: lp.split_iname(3, "i", 4), "split_iname was given kernel=3, which is no kernel"),
    (lambda: lp.split_iname(twice(), "i"), "split_iname needs the argument 'inner_length'"),
    (lambda: lp.join_inames(twice(), 3), "given inames=3, which is no text and no collection"),
    (lambda: lp.join_inames(twice(), [3]), "join_inames was given inames="),
    (lambda: lp.rename_inames_in_batch(twice(), ["i"]), "which is no dictionary"),
    (lambda: lp.generate_code_v2("k"), "generate_code_v2 was given t_unit='k', which is no"),
    (lambda: lp.get_op_map(3), "given program=3, which is no kernel and no program"),
    (lambda: twice(kernel_data=3), "3"),
    (lambda: lp.assume(twice(), "n>1", frobnicate=1), "assume has no argument 'frobnicate'"),
]


@pytest.mark.parametrize(("call", "text"), WRONG, ids=[text for _, text in WRONG])
def test_wrong_arguments(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(InvalidArgument, match=text) as caught:
        call()
    assert "test_names.py:" in str(caught.value)


def test_what_calls_take_in_loopy() -> None:
    with pytest.raises(UnknownArgument, match="pass arrays of your own"):
        twice()(a=np.ones(3), allocator=None)


def test_options_that_are_off_need_no_place() -> None:
    assert lp.set_options(twice(), lp.Options(edit_code=False, insert_gbarriers=True)) == twice()


def test_axes_that_are_free() -> None:
    knl = lp.make_kernel("{ [i,j,k]: 0<=i,j,k<4 }", "out[i,j,k] = i")
    knl = lp.tag_inames(knl, "i: l.0, j: g.1")
    found = [lp.find_unused_axis_tag(knl, kind) for kind in ("l", "g")]
    assert [str(tag) for tag in found] == ["l.1", "g.0"]
    assert str(lp.find_unused_axis_tag(knl["loopy_kernel"], type(found[1]), "id:insn")) == "g.0"
    full = lp.tag_inames(lp.tag_inames(knl, "k: l.1"), "j: l.2", force=True)
    with pytest.raises(InvalidArgument, match=r"all axes l\.0 to l\.2 are used"):
        lp.find_unused_axis_tag(full, "l")


def test_conditions_that_always_hold() -> None:
    knl = lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] {if=i>=0}")
    knl = lp.remove_predicates_from_insn(knl, frozenset(["i >= 0"]), "id:insn")
    assert knl["loopy_kernel"].instructions[0].predicates == ()
    odd = lp.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i] {if=i>2}")
    condition = odd["loopy_kernel"].instructions[0].predicates
    with pytest.warns(pg.errors.ChangedMeaning, match="would have other predicates"):
        all_of_them = lp.remove_predicates_from_insn(odd, frozenset(condition), "id:insn")
    _, (out,) = all_of_them(a=np.arange(5.0))
    np.testing.assert_array_equal(out, 2 * np.arange(5.0))
    assert "map_instructions" in all_of_them["loopy_kernel"].claims[0]


def test_what_is_made_beside_the_text() -> None:
    def mangler(_kernel: pg.Kernel, name: str) -> Any:
        return (lp.to_loopy_type(np.float64), "MY_PI") if name == "PI" else None

    knl = lp.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = f(i)*PI",
        substitutions={"f": lp.SubstitutionRule("f", ("x",), "2*a[x]")},
        preambles=[("00_one", "#define MY_PI 3.141592653589793")],
        symbol_manglers=[mangler],
        loop_priority=None,
    )
    assert knl["loopy_kernel"].substitutions[0].name == "f"
    in_c: Any = knl
    in_c = in_c.copy(target=lp.CTarget())
    assert [text for *_, text in knl["loopy_kernel"].preambles] == [
        "#define MY_PI 3.141592653589793"
    ] * 3  # one for each target
    _, (out,) = in_c(a=np.arange(3.0))
    np.testing.assert_allclose(out, 2 * np.pi * np.arange(3))


def test_priorities_are_a_set_of_tuples() -> None:
    knl: Any = lp.make_kernel(
        "{ [i,j]: 0<=i,j<n }", "out[i,j] = i", loop_priority=frozenset([("j", "i")])
    )
    assert knl["loopy_kernel"].loop_priority == {("j", "i")}


def test_types_of_one_of_several_kernels() -> None:
    both = lp.merge([twice(name="first"), twice(name="second")])
    typed: Any = lp.add_and_infer_dtypes(both, {"a": np.float32}, kernel_name="second")
    types = [typed[name].arg_dict["out"].dtype for name in ("first", "second")]
    assert types == [None, np.dtype(np.float32)]


def test_a_script_of_a_name() -> None:
    text = str(lp.t_unit_to_python(twice(), var_name="unit"))
    found: dict[str, Any] = {}
    exec(text, found)  # noqa: S102  (what polygen writes)
    assert found["unit"] == twice()
    parts = lp.t_unit_to_python(twice(), return_preamble_and_body_separately=True)
    assert parts[0] == "import polygen as pg"
    assert "\n\n".join(parts) == lp.t_unit_to_python(twice())


def test_caches_until_a_block_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGEN_NO_CACHE", "0")
    with lp.CacheMode(False):
        assert os.environ["POLYGEN_NO_CACHE"] == "1"
    assert os.environ["POLYGEN_NO_CACHE"] == "0"
    monkeypatch.delenv("POLYGEN_NO_CACHE")
    with lp.CacheMode(True):
        lp.clear_in_mem_caches()
    assert "POLYGEN_NO_CACHE" not in os.environ


def test_checks_of_one_of_several_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    both = lp.merge([twice(name="first"), twice(name="second")])
    both = lp.add_and_infer_dtypes(both.with_entrypoints("first"), {"a": np.float32})
    times = lp.auto_test_vs_ref(
        both, None, both, [1], ["x"], {"n": 5}, quiet=True, ref_entrypoint="first"
    )
    assert set(times) == {"elapsed_wall", "ref_elapsed_wall"}
    assert capsys.readouterr().out == ""
