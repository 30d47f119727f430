"""Random steps of all kinds that polygen has: legal or not, that is left open.

Half of them are of `tests.proof.any_step`; the others are made here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import polygen as pg
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.inference import infer_types, kinds
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.transforms.reductions.collect_reduction import is_accumulation
from tests.proof import any_step
from tests.proof.any_step import AnyStep

# Why it is not drawn.
NOT_DRAWN = {
    "change_arg_to_image": "there is no image in C, where these kernels run, too",
    "assume_independent": "a claim on data, which random data would have to keep",
    "rename_argument": "the kernels of a sequence are called with the same arguments",
    "remove_unused_arguments": "the kernels of a sequence are called with the same arguments",
    "change_arg_to_temporary": "the kernels of a sequence are called with the same arguments",
    "diff_kernel": "it computes something else: tests/transforms/derivatives/test_diff_kernel.py",
    "to_batched": "the kernels of a sequence are called with the same arguments",
    "privatize_atomics": "these kernels update nothing atomically: tests/transforms has its own",
    "use_tensor_cores": "it takes sums of products that are loops: tests/transforms has its own",
    "split_scan": "no reduction of these kernels grows along a loop: tests/transforms has its own",
    "reduce_online": "it takes sums of powers alone: tests/transforms has its own",
    "split_argmax": "it takes elements as they are, or integers: tests/transforms has its own",
    "split_complex_sum": "it takes complex numbers: tests/transforms has its own",
    "narrow_sum": "it takes small integers, and few of them: tests/transforms has its own",
    "pairwise_sums": "it takes split_iname and split_reduction_inward, which are drawn",
    "share_rows": "it takes rows of constant lengths alone: tests/transforms has its own",
    "fuse_kernels": "it takes several kernels: test_fuse_kernels.py draws pairs",
}
# What is believed, and changes what a kernel may be called with.
DECLARED = (
    *any_step.DECLARED,
    "assume_injective",
    "tag_array_axes",
    "set_array_axis_names",
    "add_padding",
    "add_bank_padding",
)

_Kind = Callable[[Kernel, random.Random], AnyStep | None]


def random_step(knl: Kernel, r: random.Random) -> AnyStep:
    """Return any step that fits the kernel."""
    return any_step.random_step(knl, r) if r.random() < 0.5 else new_step(knl, r)


def new_step(knl: Kernel, r: random.Random) -> AnyStep:
    """Return a step of those kinds that `any_step` does not know."""
    while True:
        (kind,) = r.choices(list(MORE), [weight for _, weight in MORE.values()])
        step = MORE[kind][0](knl, r)
        if step is not None:
            return step


# --- what there is to choose from


def _free(knl: Kernel) -> list[str]:
    return [i for i in knl.inames if i not in knl.tags]


def _one(knl: Kernel, r: random.Random) -> str | None:
    return r.choice(knl.inames) if knl.inames else None


def _together(knl: Kernel, r: random.Random, least: int) -> list[str] | None:
    """Return some inames that are around one instruction, in any order."""
    insn = r.choice(knl.instructions)
    around = sorted(insn.within_inames | insn.reduction_inames)
    if len(around) < least:
        return None
    return r.sample(around, r.choice((least, least, min(len(around), least + 1))))


def _id(knl: Kernel, r: random.Random) -> str:
    return r.choice(knl.instructions).id


def _offset(knl: Kernel, r: random.Random) -> str | int:
    sizes = [n for n in ("n", "m") if n in knl.parameters]
    forms: list[str | int] = [f"{r.choice((2, -1))}*{n} + 1" for n in sizes]
    return r.choice([1, -3, 2, *forms])


# --- loops


def _two_ids(step: str, together: bool) -> _Kind:
    """Return what draws a step on two instructions."""

    def draw(knl: Kernel, r: random.Random) -> AnyStep | None:
        if len(knl.assignments) < 2:
            return None
        ids = [insn.id for insn in r.sample(knl.assignments, 2)]
        return AnyStep(step, (ids,) if together else tuple(ids))

    return draw


def _untag(knl: Kernel, r: random.Random) -> AnyStep | None:
    if not knl.tags:
        return None
    names = r.sample(sorted(knl.tags), r.randint(1, len(knl.tags)))
    return AnyStep("untag_inames", (names,))


def _unused(knl: Kernel, r: random.Random) -> AnyStep | None:
    used = frozenset[str]().union(*(i.within_inames | i.reduction_inames for i in knl.instructions))
    if used.issuperset(knl.inames):
        return None
    return AnyStep("remove_unused_inames", r.choice(((), (list(knl.inames),))))


def _reverse(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    return None if iname is None else AnyStep("reverse", (iname,))


def _shift(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    return None if iname is None else AnyStep("shift", (iname, _offset(knl, r)))


def _skew(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 2)
    return AnyStep("skew", (*inames[:2], r.choice((1, 1, -1, 2, 0)))) if inames else None


def _interchange(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 2)
    return AnyStep("interchange", tuple(inames[:2])) if inames else None


def _joined(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 2)
    return AnyStep("join_domains", (inames[:2],)) if inames else None


def _tile(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 2)
    if inames is None or len(knl.inames) > 7:
        return None
    tags = {"outer_tags": {inames[0]: "g.0"}, "inner_tags": {inames[0]: "l.0"}}
    sizes = {iname: r.choice((2, 3, 4)) for iname in inames}
    return AnyStep("tile", (sizes,), tags if r.random() < 0.3 else {})


def _jam(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    if iname is None or len(knl.inames) > 7:
        return None
    return AnyStep("unroll_and_jam", (iname, r.choice((2, 3))))


def _lanes(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = _free(knl)
    inner = [i for i in free if i.endswith("_inner")]  # of which the number is a constant
    if not free:
        return None
    tag = r.choice(("ilp", "ilp.seq", "vec"))
    return AnyStep("tag_inames", ({r.choice(inner or free): tag},))


def _strip_mine(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = _free(knl)
    if not free or len(knl.inames) > 7 or len(knl.separations) > 2:
        return None
    options = {"within": _id(knl, r)} if r.random() < 0.3 else {}
    return AnyStep("strip_mine_to_vector", (r.choice(free), r.choice((2, 2, 3, 4))), options)


def _wavefront(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 2)
    tag = r.choice(("g.0", "g.1", "for"))
    return AnyStep("wavefront", (*inames[:2], tag)) if inames else None


def _fuse(knl: Kernel, r: random.Random) -> AnyStep | None:
    if len(knl.inames) < 2 or len(knl.inames) > 8:
        return None
    return AnyStep("fuse_loops", (*r.sample(knl.inames, 2), r.choice((None, None, 0, 1, -2))))


def _distribute(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    if iname is None or len(knl.inames) > 7:
        return None
    return AnyStep("distribute_loop", (iname, r.choice((None, _id(knl, r)))))


def _join(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 2)
    options = {"tag": "g.0"} if r.random() < 0.2 else {}
    return AnyStep("join_inames", (inames,), options) if inames else None


def _affine_map(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 1)
    if inames is None:
        return None
    x, p = inames[0], knl.new_name("p")
    if len(inames) == 1:
        forms = (f"{p} = {x} + {_offset(knl, r)}", f"{p} = {_offset(knl, r)} - {x}")
        return AnyStep("affine_map_inames", (x, p, [r.choice(forms)]))
    y, q = inames[1], knl.new_name("q")
    plane = (
        [f"{p} = {y}", f"{q} = {x}"],
        [f"{p} = {x} + {y}", f"{q} = {y}"],
        [f"{p} + {x} = 2*{y}", f"{q} = {y}"],
        [f"{p} - {q} = {x}", f"{q} = -{y}"],
    )
    return AnyStep("affine_map_inames", ([x, y], [p, q], r.choice(plane)))


def _split_within(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = _free(knl)
    if not free or len(knl.inames) > 7:
        return None
    return AnyStep("split_iname", (r.choice(free), r.choice((2, 3))), {"within": _id(knl, r)})


def _peel(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    ends = r.choice(((1, 0), (0, 1), (1, 1), (2, 1)))
    return None if iname is None or len(knl.separations) > 2 else AnyStep("peel", (iname, *ends))


def _pad_loop(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    return None if iname is None else AnyStep("pad_iname", (iname, r.choice((2, 3, 4))))


def _index_sets(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 1)
    if inames is None or len(knl.separations) > 2:
        return None
    x, y = inames[0], inames[-1]
    conditions = (f"{x} < {_offset(knl, r)}", f"{x} <= {y}", f"2*{x} >= 3 and {x} < 4", f"{y} == 2")
    return AnyStep("index_set_split", (r.choice(conditions),))


def _full_tiles(knl: Kernel, r: random.Random) -> AnyStep | None:
    inner = [i for i in knl.inames if i.endswith("_inner")]
    if not inner or len(knl.separations) > 2:
        return None
    return AnyStep("separate_full_tiles", (r.sample(inner, r.randint(1, min(2, len(inner)))),))


def _pad_tiles(knl: Kernel, r: random.Random) -> AnyStep | None:
    inner = [i for i in knl.inames if i.endswith("_inner")]
    if not inner:
        return None
    return AnyStep("pad_tiles", (r.sample(inner, r.randint(1, min(2, len(inner)))),))


def _chunk(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = _free(knl)
    if not free or len(knl.inames) > 7:
        return None
    return AnyStep("chunk_iname", (r.choice(free), r.choice((2, 3))))


def _rename_within(knl: Kernel, r: random.Random) -> AnyStep | None:
    if len(knl.inames) < 2 or len(knl.inames) > 8:
        return None
    old, new = r.sample(knl.inames, 2)
    if r.random() < 0.5:
        new = knl.new_name(f"y{old}")
    return AnyStep("rename_iname", (old, new), {"existing_ok": True, "within": _id(knl, r)})


def _rename_several(knl: Kernel, r: random.Random) -> AnyStep | None:
    if len(knl.inames) < 3:
        return None
    *olds, new = r.sample(knl.inames, 3)
    return AnyStep("rename_inames", (olds, new, True))


def _tag_text(knl: Kernel, r: random.Random) -> AnyStep | None:
    inames = _together(knl, r, 2)
    if inames is None:
        return None
    texts = (f"{inames[0]}: g.auto", f"{inames[0]}: like.{inames[1]}", f"{inames[0]}: ord")
    return AnyStep("tag_inames", (r.choice(texts), r.random() < 0.2))


# --- arrays


def _arrays(knl: Kernel) -> list[str]:
    return sorted(n for n, v in knl.variables.items() if getattr(v, "shape", None))


def _tag_axes(knl: Kernel, r: random.Random) -> AnyStep | None:
    arrays = _arrays(knl)
    if not arrays:
        return None
    name = r.choice(arrays)
    count = len(knl.array(name).shape or ())
    levels = ", ".join(f"N{level}" for level in r.sample(range(count), count))
    tags = r.choice(("F", "C", levels, levels.replace("N0", "N0(pad_to=3)")))
    return AnyStep("tag_array_axes", (name, tags))


def _name_axes(knl: Kernel, r: random.Random) -> AnyStep | None:
    arrays = _arrays(knl)
    if not arrays:
        return None
    name = r.choice(arrays)
    names = [f"x{axis}" for axis in range(len(knl.array(name).shape or ()))]
    return AnyStep("set_array_axis_names", (name, names))


def _axis_of_temporary(knl: Kernel, r: random.Random) -> tuple[str, int, int] | None:
    """Return an axis of a temporary, and how many it has; other axes of arguments are seen."""
    found = [t for t in knl.temporaries if t.shape and len(t.shape) < 4]
    if not found:
        return None
    t = r.choice(found)
    return t.name, r.randrange(len(t.shape)), len(t.shape)


def _split_axis(knl: Kernel, r: random.Random) -> AnyStep | None:
    found = _axis_of_temporary(knl, r)
    if found is None or len(knl.inames) > 7:
        return None
    spec = (found[0], found[1], r.choice("CF"))
    return AnyStep("split_array_dim", (spec, r.choice((2, 3)), r.random() < 0.3))


def _join_axes(knl: Kernel, r: random.Random) -> AnyStep | None:
    found = _axis_of_temporary(knl, r)
    if found is None:
        return None
    return AnyStep("join_array_dims", ((found[0], max(0, found[1] - 1), r.choice("CF")),))


def _permute_axes(knl: Kernel, r: random.Random) -> AnyStep | None:
    found = _axis_of_temporary(knl, r)
    if found is None:
        return None
    return AnyStep("permute_array_dims", (found[0], r.sample(range(found[2]), found[2])))


def _pad(knl: Kernel, r: random.Random) -> AnyStep | None:
    arrays = [n for n in _arrays(knl) if knl.array(n).dtype is not None]
    if not arrays:
        return None
    return AnyStep("add_padding", (r.choice(arrays), r.choice((0, 0, 1)), r.choice((16, 24))))


def _bank_pad(knl: Kernel, r: random.Random) -> AnyStep | None:
    names = [t.name for t in knl.temporaries if t.address_space is pg.AddressSpace.LOCAL]
    banks = (r.choice((4, 32)), r.choice((2, 4)))
    return AnyStep("add_bank_padding", (r.choice(names), *banks)) if names else None


def _two_temporaries(knl: Kernel, r: random.Random) -> list[str] | None:
    names = [t.name for t in knl.temporaries]
    return r.sample(names, 2) if len(names) > 1 else None


def _concatenate(knl: Kernel, r: random.Random) -> AnyStep | None:
    names = _two_temporaries(knl, r)
    return AnyStep("concatenate_arrays", (names, None, r.choice((0, 0, 1)))) if names else None


def _alias(knl: Kernel, r: random.Random) -> AnyStep | None:
    names = _two_temporaries(knl, r)
    return AnyStep("alias_temporaries", (names, None, r.random() < 0.7)) if names else None


def _buffer(knl: Kernel, r: random.Random) -> AnyStep | None:
    written = sorted(n for n in knl.writers if getattr(knl.variables[n], "shape", None))
    if not written or len(knl.inames) > 7:
        return None
    name = r.choice(written)
    insn = r.choice(knl.writers[name])
    swept = r.sample(sorted(insn.within_inames), min(len(insn.within_inames), r.randint(0, 2)))
    options = {"within": insn.id, "default_tag": None}
    return AnyStep("buffer_array", (name, swept), options)


def _space(knl: Kernel, r: random.Random) -> AnyStep | None:
    if not knl.temporaries:
        return None
    space = r.choice(("private", "local", "global", "auto"))
    return AnyStep("set_temporary_address_space", (r.choice(knl.temporaries).name, space))


def _share(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    return None if iname is None else AnyStep("unprivatize_temporaries_with_inames", (iname,))


def _recompute(knl: Kernel, r: random.Random) -> AnyStep | None:
    names = [t.name for t in knl.temporaries]
    if not names:
        return None
    return AnyStep("recompute_temporaries", (r.sample(names, min(len(names), r.randint(1, 2))),))


def _vector_loads(knl: Kernel, r: random.Random) -> AnyStep | None:
    read = sorted({n for i in knl.instructions for n in i.read_names if n in _arrays(knl)})
    iname = _one(knl, r)
    if not read or iname is None or len(knl.inames) > 7:
        return None
    options = {"default_tag": r.choice((None, None, "l.auto")), "vector_width": r.choice((2, 4))}
    if options["default_tag"] is not None:
        options["asynchronous"] = r.random() < 0.5
    return AnyStep("add_prefetch", (r.choice(read), iname), options)


def _double(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    names = [t.name for t in knl.temporaries if len(t.shape) < 4]
    return AnyStep("double_buffer", (r.choice(names), iname)) if names and iname else None


def _save(_knl: Kernel, _r: random.Random) -> AnyStep:
    return AnyStep("save_and_reload_temporaries")


# --- expressions, calls and what is known


def _expand_within(knl: Kernel, r: random.Random) -> AnyStep | None:
    return AnyStep("expand_subst", (_id(knl, r),)) if knl.substitutions else None


def _inline(knl: Kernel, r: random.Random) -> AnyStep | None:
    calls = [call.function for call in knl.calls]
    return AnyStep("inline_callable_kernel", (r.choice(calls),)) if calls else None


def _rename_call(knl: Kernel, r: random.Random) -> AnyStep | None:
    calls = [call.function for call in knl.calls]
    return AnyStep("rename_callable", (r.choice(calls), knl.new_name("f"))) if calls else None


def _types(knl: Kernel, r: random.Random) -> AnyStep | None:
    sizes = [n for n in ("n", "m") if n in knl.variables and knl.variable(n).dtype is None]
    if not sizes:
        return None
    names = ", ".join(r.sample(sizes, r.randint(1, len(sizes))))
    return AnyStep("add_dtypes", ({names: r.choice(("int32", "int64"))},))


def _infer(_knl: Kernel, _r: random.Random) -> AnyStep:
    return AnyStep("infer_unknown_types")


def _injective(knl: Kernel, _r: random.Random) -> AnyStep | None:
    known = "idx" in knl.variables and "idx" not in knl.writers
    return AnyStep("assume_injective", ("idx",)) if known else None


def _options(_knl: Kernel, r: random.Random) -> AnyStep:
    options: tuple[dict[str, Any], ...] = (
        {"allow_reassociation": False},
        {"allow_reassociation": True},
        {"return_dict": True, "build_options": ["-w"]},
    )
    return AnyStep("set_options", (), r.choice(options))


_CALLABLE = pg.ScalarCallable({"own_less": "int32 -> int32"}, "")


def _callable(_knl: Kernel, _r: random.Random) -> AnyStep:
    return AnyStep("register_callable", ("own_less", _CALLABLE))


def _preamble(_knl: Kernel, _r: random.Random) -> AnyStep:
    return AnyStep("register_preamble_generators", ([_nothing],))


def _mangler(_knl: Kernel, _r: random.Random) -> AnyStep:
    return AnyStep("register_symbol_manglers", ([_nothing],))


def _nothing(*_: Any) -> None:
    """Stand for no preamble, and for no symbol."""


# --- instructions


def _after(knl: Kernel, r: random.Random) -> AnyStep:
    return AnyStep("add_dependency", (_id(knl, r), _id(knl, r)))


def _not_after(knl: Kernel, r: random.Random) -> AnyStep | None:
    pairs = [(i.id, before) for i in knl.instructions for before in sorted(i.depends_on)]
    return AnyStep("remove_dependency", r.choice(pairs)) if pairs else None


def _priority(knl: Kernel, r: random.Random) -> AnyStep:
    return AnyStep("set_instruction_priority", (_id(knl, r), r.randint(-1, 2)))


def _no_wait(knl: Kernel, r: random.Random) -> AnyStep:
    options = {"bidirectional": r.random() < 0.5, "force": True, "empty_ok": True}
    scope = r.choice(("local", "global", "any"))
    return AnyStep("add_nosync", (scope, _id(knl, r), _id(knl, r)), options)


def _barrier(knl: Kernel, r: random.Random) -> AnyStep | None:
    if any(isinstance(insn, pg.Barrier) for insn in knl.instructions):
        return None
    kind = {"synchronization_kind": r.choice(("local", "local", "global"))}
    return AnyStep("add_barrier", (_id(knl, r), r.choice((None, _id(knl, r)))), kind)


def _tag_one(knl: Kernel, r: random.Random) -> AnyStep:
    return AnyStep("tag_instructions", ("marked", r.choice((None, _id(knl, r)))))


def _other_id(knl: Kernel, r: random.Random) -> AnyStep:
    old = _id(knl, r)
    return AnyStep("replace_instruction_ids", ({old: knl.new_name(f"{old}_too")},))


def _free_of_all(insn: pg.Instruction) -> pg.Instruction:
    return insn.copy(depends_on=frozenset(), tags=frozenset(("free",)))


def _mapped(knl: Kernel, r: random.Random) -> AnyStep:
    return AnyStep("map_instructions", (_id(knl, r), _free_of_all))


def _remove(knl: Kernel, r: random.Random) -> AnyStep | None:
    return AnyStep("remove_instructions", (_id(knl, r),)) if len(knl.instructions) > 1 else None


def _more_inames(knl: Kernel, r: random.Random) -> AnyStep | None:
    iname = _one(knl, r)
    return None if iname is None else AnyStep("add_inames_to_insn", (iname, _id(knl, r)))


def _fewer_inames(knl: Kernel, r: random.Random) -> AnyStep | None:
    insn = r.choice(knl.instructions)
    around = sorted(insn.within_inames)
    if not around:
        return None
    return AnyStep("remove_inames_from_insn", (r.choice(around), insn.id))


# --- whole kernels


def _parts(knl: Kernel, r: random.Random) -> AnyStep | None:
    # A number that is kept has a type; where it is not, it takes that of what it meets.  And which
    # contribution is which has to be seen: all that is reduced over is mentioned.
    kept = (
        n
        for i in knl.instructions
        for n in i.reductions
        if ex.If not in walk.classes(n.operand) and walk.free_variables(n.operand) >= {*n.inames}
    )
    over = sorted({iname for node in kept for iname in node.inames} - knl.tags.keys())
    return AnyStep("reduce_in_parts", (r.choice(over), r.choice((1, 3, 4)))) if over else None


def _terms(knl: Kernel, r: random.Random) -> AnyStep | None:
    over = sorted({i for insn in knl.assignments for i in insn.reduction_inames})
    return AnyStep("unroll_reduction", (r.choice(over),)) if over else None


def _realize(knl: Kernel, r: random.Random) -> AnyStep | None:
    reducing = [insn.id for insn in knl.instructions if insn.reductions]
    if not reducing:
        return None
    return AnyStep("realize_reduction", r.choice(((), (r.choice(reducing),))))


def _collect(knl: Kernel, r: random.Random) -> AnyStep | None:
    loops = [(insn.id, i) for insn in knl.assignments for i in sorted(insn.within_inames)]
    found = [loop for loop in loops if is_accumulation(knl, *loop)] or loops
    return AnyStep("collect_reduction", r.choice(found)) if found else None


def _time_tiles(knl: Kernel, r: random.Random) -> AnyStep | None:
    if not knl.inames:
        return None
    axes = r.choice((1, 2))
    points = [r.choice((3, 5, 8)) for _ in range(axes)]
    return AnyStep("overlap_time_tiles", (r.choice(knl.inames), r.choice((1, 2)), points))


def _absorb(knl: Kernel, r: random.Random) -> AnyStep | None:
    found = [insn.id for insn in knl.assignments if insn.reductions] or [
        insn.id for insn in knl.assignments
    ]
    return AnyStep("absorb_identity", (r.choice(found),)) if found else None


def _pad_reduction(knl: Kernel, r: random.Random) -> AnyStep | None:
    reduced = sorted({i for insn in knl.instructions for i in insn.reduction_inames})
    if not reduced:
        return None
    others = [iname for iname in knl.inames if iname not in reduced]
    return AnyStep("pad_reduction", (r.choice(reduced), r.choice(others))) if others else None


def _pair_factors(knl: Kernel, r: random.Random) -> AnyStep | None:
    found = [insn for insn in knl.expanded.assignments if insn.reductions and insn.within_inames]
    if not found:
        return None
    insn = r.choice(found)
    return AnyStep("pair_factors", (insn.id, r.choice(sorted(insn.within_inames))))


def _share_reduction(knl: Kernel, r: random.Random) -> AnyStep | None:
    # Numbers without a type of their own have another one once they are stored: docs/proofs.md.
    known = kinds(infer_types(knl.expanded))
    reducing = [
        insn.id
        for insn in knl.expanded.instructions
        if insn.reductions
        and all(isinstance(type_of(node, known), np.dtype) for node in insn.reductions)
    ]
    if not reducing:
        return None
    counts = {
        "blocks": r.choice((1, 2, 3)),
        "threads": r.choice((2, 3, 4)),
        "items": r.choice((1, 2)),
    }
    finish = "cluster" if counts["blocks"] == 3 else "two_pass"
    return AnyStep(
        "parallelize_reduction", (r.choice(reducing),), {**counts, "across": 1, "finish": finish}
    )


def _factors(knl: Kernel, r: random.Random) -> AnyStep | None:
    written = [t for t in knl.temporaries if t.name in knl.writers]
    if not written:
        return None
    found = r.choice(written)
    axes = tuple(range(len(found.shape))) if r.random() < 0.5 else ()
    return AnyStep("collect_common_factors", (found.name, axes))


# --- arguments and expressions


def _argument_order(knl: Kernel, r: random.Random) -> AnyStep:
    names = [argument.name for argument in knl.arguments]
    return AnyStep("set_argument_order", (r.sample(names, len(names)),))


def _simpler(_knl: Kernel, _r: random.Random) -> AnyStep:
    return AnyStep("simplify_indices")


def _folded(_knl: Kernel, _r: random.Random) -> AnyStep:
    return AnyStep("fold_constants")


# What makes steps of some kind, and how often: `weight` is relative.
def _coalesce(knl: Kernel, r: random.Random) -> AnyStep | None:
    found = [i.id for i in knl.expanded.instructions if i.reductions]
    return AnyStep("coalesce_reduction", (r.choice(found),)) if found else None


def _propagate(knl: Kernel, r: random.Random) -> AnyStep | None:
    found = [i.id for i in knl.expanded.instructions if i.reductions]
    return AnyStep("propagate_reduction", (r.choice(found),)) if found else None


MORE: dict[str, tuple[_Kind, float]] = {
    "untag_inames": (_untag, 3),
    "fuse_reductions": (_two_ids("fuse_reductions", together=True), 0.5),
    "fuse_epilogue": (_two_ids("fuse_epilogue", together=False), 0.5),
    "remove_unused_inames": (_unused, 1),
    "reverse": (_reverse, 4),
    "shift": (_shift, 3),
    "skew": (_skew, 4),
    "interchange": (_interchange, 4),
    "join_domains": (_joined, 1),
    "tile": (_tile, 3),
    "unroll_and_jam": (_jam, 3),
    "tag_inames as lanes": (_lanes, 4),
    "strip_mine_to_vector": (_strip_mine, 3),
    "wavefront": (_wavefront, 2),
    "fuse_loops": (_fuse, 3),
    "distribute_loop": (_distribute, 2),
    "join_inames": (_join, 4),
    "coalesce_reduction": (_coalesce, 0.5),
    "propagate_reduction": (_propagate, 0.5),
    "affine_map_inames": (_affine_map, 3),
    "split_iname within": (_split_within, 2),
    "rename_iname within": (_rename_within, 2),
    "peel": (_peel, 2),
    "pad_iname": (_pad_loop, 1),
    "pad_tiles": (_pad_tiles, 1),
    "index_set_split": (_index_sets, 2),
    "separate_full_tiles": (_full_tiles, 2),
    "chunk_iname": (_chunk, 1),
    "rename_inames": (_rename_several, 1),
    "tag_inames in a text": (_tag_text, 2),
    "tag_array_axes": (_tag_axes, 2),
    "set_array_axis_names": (_name_axes, 0.5),
    "set_temporary_address_space": (_space, 2),
    "split_array_dim": (_split_axis, 2),
    "join_array_dims": (_join_axes, 2),
    "permute_array_dims": (_permute_axes, 1),
    "add_padding": (_pad, 1),
    "add_bank_padding": (_bank_pad, 1),
    "concatenate_arrays": (_concatenate, 1),
    "alias_temporaries": (_alias, 2),
    "buffer_array": (_buffer, 2),
    "double_buffer": (_double, 1),
    "add_prefetch in vectors": (_vector_loads, 1),
    "save_and_reload_temporaries": (_save, 1),
    "unprivatize_temporaries_with_inames": (_share, 1),
    "expand_subst within": (_expand_within, 1),
    "inline_callable_kernel": (_inline, 2),
    "rename_callable": (_rename_call, 1),
    "add_dependency": (_after, 2),
    "remove_dependency": (_not_after, 2),
    "set_instruction_priority": (_priority, 0.5),
    "add_nosync": (_no_wait, 0.3),
    "add_barrier": (_barrier, 0.5),
    "tag_instructions": (_tag_one, 0.3),
    "replace_instruction_ids": (_other_id, 0.3),
    "map_instructions": (_mapped, 1),
    "remove_instructions": (_remove, 1),
    "add_inames_to_insn": (_more_inames, 1),
    "remove_inames_from_insn": (_fewer_inames, 1),
    "realize_reduction": (_realize, 2),
    "collect_reduction": (_collect, 1),
    "overlap_time_tiles": (_time_tiles, 0.5),
    "absorb_identity": (_absorb, 0.5),
    "pad_reduction": (_pad_reduction, 1),
    "pair_factors": (_pair_factors, 1),
    "reduce_in_parts": (_parts, 1),
    "unroll_reduction": (_terms, 1),
    "parallelize_reduction": (_share_reduction, 1),
    "collect_common_factors": (_factors, 1),
    "recompute_temporaries": (_recompute, 1),
    "set_argument_order": (_argument_order, 0.3),
    "simplify_indices": (_simpler, 0.7),
    "fold_constants": (_folded, 0.5),
    "add_dtypes": (_types, 0.5),
    "infer_unknown_types": (_infer, 0.5),
    "assume_injective": (_injective, 0.7),
    "set_options": (_options, 0.5),
    "register_callable": (_callable, 0.2),
    "register_preamble_generators": (_preamble, 0.2),
    "register_symbol_manglers": (_mangler, 0.2),
}
