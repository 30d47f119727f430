"""Random steps of any kind: whether they are legal, or can be taken at all, is left open."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polygen as pg
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel

TAGS = ("g.0", "l.0", "g.1", "l.1", "unr", "for")
DECLARED = ("assume", "fix_parameters")  # change the interface: they are not proved


@dataclass(frozen=True)
class AnyStep:
    """A call of one of polygen's transformations: call it with a kernel."""

    name: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, kernel: Kernel) -> Kernel:
        new: Kernel = getattr(pg, self.name)(kernel, *self.arguments, **self.options)
        return new

    def __str__(self) -> str:
        given = [repr(a) for a in self.arguments]
        given += [f"{name}={value!r}" for name, value in self.options.items()]
        return f"{self.name}({', '.join(given)})"


def random_step(knl: Kernel, r: random.Random) -> AnyStep:
    """Return any step that fits the kernel."""
    while True:
        (kind,) = r.choices(list(_KINDS), list(_KINDS.values()))
        step = kind(knl, r)
        if step is not None:
            return step


_Kind = Callable[[Kernel, random.Random], AnyStep | None]


# --- what there is to choose from


def _free(knl: Kernel) -> list[str]:
    """Return inames that are no axis; not those of the loops that give arrays their values."""
    return [i for i in knl.inames if i not in knl.tags and not i.startswith("k_")]


def _some(r: random.Random, names: list[str], most: int) -> list[str]:
    return r.sample(names, min(len(names), r.randint(1, most)))


def _insn(knl: Kernel, r: random.Random) -> Instruction:
    return r.choice(knl.instructions)


def _around(insn: Instruction) -> list[str]:
    return sorted(insn.within_inames | insn.reduction_inames)


# --- order


def _prioritize(knl: Kernel, r: random.Random) -> AnyStep | None:
    order = [i for i in knl.inames if not i.startswith("k_")]
    if not order:
        return None
    return AnyStep("prioritize_loops", (_some(r, order, len(order)),))


def _tag(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = _free(knl)
    if not free:
        return None
    tags = {iname: r.choice(TAGS) for iname in _some(r, free, 2)}
    return AnyStep("tag_inames", (tags,))


def _tag_more(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = _free(knl)
    tags = dict(zip(r.sample(free, len(free)), ("g.0", "l.0", "l.1"), strict=False))
    return AnyStep("tag_inames", (tags,), {"force": True}) if tags else None


def _untag(knl: Kernel, r: random.Random) -> AnyStep | None:
    if not knl.tags:
        return None
    tag = r.choice(("for", "for", *TAGS))
    return AnyStep("tag_inames", ({r.choice(sorted(knl.tags)): tag},), {"force": True})


# --- loops


def _split(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = _free(knl)
    if not free or len(knl.inames) > 8:
        return None
    tags = {"outer_tag": r.choice((None, None, "g.0")), "inner_tag": r.choice((None, None, "l.0"))}
    return AnyStep("split_iname", (r.choice(free), r.choice((1, 2, 3, 4))), tags)


def _rename(knl: Kernel, r: random.Random) -> AnyStep | None:
    if not knl.inames:
        return None
    iname = r.choice(knl.inames)
    return AnyStep("rename_iname", (iname, knl.new_name(f"x{iname}")))


def _fuse(knl: Kernel, r: random.Random) -> AnyStep | None:
    pairs = [
        (a, b)
        for a in knl.inames
        for b in knl.inames
        if a != b and not any({a, b} <= set(_around(insn)) for insn in knl.instructions)
    ]
    return AnyStep("rename_iname", r.choice(pairs), {"existing_ok": True}) if pairs else None


def _duplicate(knl: Kernel, r: random.Random) -> AnyStep | None:
    insn = _insn(knl, r)
    around = _around(insn)
    if not around or len(knl.inames) > 8:
        return None
    ids = {insn.id, *_some(r, [i.id for i in knl.instructions], 2)}
    if r.random() < 0.5:
        ids = {insn.id}
    inames = around if r.random() < 0.5 else _some(r, around, 2)
    return AnyStep("duplicate_inames", (inames, sorted(ids)))


def _map_one(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = _free(knl)
    if not free:
        return None
    x, constant = r.choice(free), r.choice(("0", "3", *sorted(_sizes(knl))))
    outer, inner = knl.new_name(f"{x}o"), knl.new_name(f"{x}i")
    forms = [
        f"{{ [{x}] -> [{x}'] : {x}' = {constant} - {x} }}",
        f"{{ [{x}] -> [{x}'] : {x}' = {constant} - {x} }}",
        f"{{ [{x}] -> [{x}'] : {x}' = {x} + {constant} }}",
        f"{{ [{x}] -> [{outer}, {inner}] : {x} = 2*{outer} + {inner} and 0 <= {inner} < 2 }}",
    ]
    return AnyStep("map_domain", (r.choice(forms),))


_PLANE = (
    "{x}' = {x} and {y}' = {y} + {x}",
    "{x}' = {x} and {y}' = {y} - {x}",
    "{x}' = {x} + {y} and {y}' = {y}",
    "{x}' = 2*{x} + {y} and {y}' = {x}",
    "{x}' = -{x} and {y}' = -{y}",
    "{x}' = {y} and {y}' = {x}",
    "{x}' = {x} and {y}' = {y}",
)


def _map_two(knl: Kernel, r: random.Random) -> AnyStep | None:
    free = [i for i in _around(_insn(knl, r)) if i in _free(knl)]
    if len(free) < 2:
        return None
    x, y = r.sample(free, 2)
    news = r.choice((f"{x}', {y}'", f"{y}', {x}'"))
    equations = r.choice(_PLANE).format(x=x, y=y)
    return AnyStep("map_domain", (f"{{ [{x}, {y}] -> [{news}] : {equations} }}",))


def _split_reduction(knl: Kernel, r: random.Random) -> AnyStep | None:
    wide = [
        node
        for insn in knl.instructions
        for part in insn.reads
        for node in walk.reductions(part)
        if len(node.inames) > 1
    ]
    if not wide:
        return None
    name = f"split_reduction_{r.choice(('inward', 'outward'))}"
    return AnyStep(name, (r.choice(r.choice(wide).inames),))


# --- storage and expressions


def _extract(knl: Kernel, r: random.Random) -> AnyStep | None:
    reads = [
        part
        for insn in knl.instructions
        for node in insn.reads
        for part in walk.subexpressions(node)
        if isinstance(part, ex.Subscript)
    ]
    if not reads:
        return None
    read = r.choice(reads)
    names = ["x", "y"][: len(ex.index_tuple(read))]
    template = f"{ex.name_of(read)}[{', '.join(names)}]"
    return AnyStep("extract_subst", (knl.new_name("f"), template, names))


def _to_subst(knl: Kernel, r: random.Random) -> AnyStep:
    return AnyStep("assignment_to_subst", (r.choice(knl.assignments).written_names[0],))


def _expand(knl: Kernel, _: random.Random) -> AnyStep | None:
    return AnyStep("expand_subst") if knl.substitutions else None


def _prefetch(knl: Kernel, r: random.Random) -> AnyStep | None:
    insn = _insn(knl, r)
    names = sorted(name for name in insn.read_names if isinstance(knl.variables.get(name), _ARRAYS))
    if not names or len(knl.inames) > 8:
        return None
    return AnyStep("add_prefetch", (r.choice(names), _sweep(insn, r)), _storage(r))


def _precompute(knl: Kernel, r: random.Random) -> AnyStep | None:
    if not knl.substitutions or len(knl.inames) > 8:
        return None
    rule = r.choice(knl.substitutions).name
    return AnyStep("precompute", (rule, _sweep(_insn(knl, r), r)), _storage(r))


def _sweep(insn: Instruction, r: random.Random) -> list[str]:
    around = _around(insn)
    return r.sample(around, r.randint(0, len(around)))


def _storage(r: random.Random) -> dict[str, Any]:
    options: dict[str, Any] = {"default_tag": r.choice((None, None, "l.auto", "l.0"))}
    if r.random() < 0.4:
        options["temporary_address_space"] = r.choice(tuple(pg.AddressSpace))
    if r.random() < 0.3:
        options["fetch_bounding_box"] = True
    return options


def _privatize(knl: Kernel, r: random.Random) -> AnyStep | None:
    written = [
        i for i in knl.assignments if isinstance(knl.variables[i.written_names[0]], _TEMPORARY)
    ]
    written = [i for i in written if i.within_inames]
    if not written:
        return None
    insn = r.choice(written)
    short = [i for i in sorted(insn.within_inames) if not knl.home_domains[i].parameters]
    inames = _some(r, short or sorted(insn.within_inames), 2)
    only = {"only_var_names": [insn.written_names[0]]} if r.random() < 0.7 else {}
    return AnyStep("privatize_temporaries_with_inames", (inames,), only)


_TEMPORARY = pg.TemporaryVariable
_ARRAYS = (pg.GlobalArg, pg.TemporaryVariable)


# --- what is known


def _sizes(knl: Kernel) -> list[str]:
    return [n for n in ("n", "m") if n in knl.parameters]


def _fix(knl: Kernel, r: random.Random) -> AnyStep | None:
    sizes = _sizes(knl)
    return AnyStep("fix_parameters", (), {r.choice(sizes): r.randint(0, 5)}) if sizes else None


def _assume(knl: Kernel, r: random.Random) -> AnyStep | None:
    sizes = _sizes(knl)
    if not sizes:
        return None
    facts = [f"{r.choice(sizes)} {r.choice(('<=', '>='))} {r.randint(1, 4)}", f"{sizes[0]} >= 1"]
    facts += [f"{sizes[0]} <= {sizes[-1]}", f"{sizes[-1]} mod 2 = 0"]
    return AnyStep("assume", (r.choice(facts),))


_KINDS: dict[_Kind, float] = {
    _prioritize: 3,
    _tag: 4,
    _tag_more: 1,
    _untag: 1,
    _split: 4,
    _rename: 0.5,
    _fuse: 2,
    _duplicate: 2,
    _map_one: 2,
    _map_two: 3,
    _split_reduction: 1,
    _extract: 1,
    _to_subst: 1,
    _expand: 0.3,
    _precompute: 1.5,
    _prefetch: 2,
    _privatize: 1,
    _fix: 0.3,
    _assume: 0.5,
}
