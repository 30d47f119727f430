"""`polygen.equivalent`: whether two kernels compute the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from polygen.analysis.access.instance_map import UNMOVED
from polygen.analysis.equality.prove import Unproved, unproved
from polygen.analysis.integers.isl_affine import to_pw_aff
from polygen.analysis.integers.proving import limited_comparison, with_proofs
from polygen.analysis.pairs.instance_pairs import witness
from polygen.analysis.rearrangement.summation_order import reordered
from polygen.analysis.wellformed.check import check_well_formed, obligations
from polygen.analysis.wellformed.obligations import INSIDE
from polygen.errors import KernelsDiffer, ProofLimit
from polygen.inspection.compare.common_types import with_common_types
from polygen.inspection.compare.counterexample import Counterexample, Runs, counterexample
from polygen.inspection.compare.verbatim_parts import verbatim_parts
from polygen.ir.array import GlobalArg
from polygen.ir.empty import new_dict
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.show import show_work
from polygen.language.programs import TranslationUnit
from polygen.proof import is_proved
from polygen.source import caller_location

EQUAL, DIFFERENT, UNKNOWN = "equal", "different", "unknown"
_MOST_OBSTACLES = 3
_NOT_RUN = (
    "{} may do anything, and is run only if you allow it: allow_verbatim=True, or "
    "polygen equiv --allow-verbatim"
)
_TELLS_NOTHING = "'{}' returns old values in any order, so that two calls may differ"


@dataclass(frozen=True)
class Equivalence:
    """A verdict on two kernels.  It is true if they are proved to compute the same.

    Attributes:
        answer: ``"equal"``: proved, for all sizes and all data; ``"different"``: shown by a call;
            ``"unknown"``: neither.
        names: what the two are called in the text.
        rounding: whether they are equal up to rounding only: sums or products are arranged
            otherwise.
        types: those that nothing declares, and the comparison is about: by argument.
        owed: what data has to fulfil, for one of the kernels to have a result: see `obligations`.
        counterexample: of different kernels, a call and an element that differs.
        written_by: what writes the element that differs, in each kernel, if one instruction does.
        doubted: of what is unknown, for each array an element of which nothing is proved, with the
            sizes, as text.
        obstacles: what stood in the way of a proof.
        tried: the sizes with which both kernels left the same, of random numbers.
        assumed: what the comparison assumes of sizes, if one of the kernels alone does; isl's text.
    """

    answer: str
    names: tuple[str, str]
    rounding: bool = False
    types: Mapping[str, str] = field(default_factory=new_dict)
    owed: tuple[str, ...] = ()
    counterexample: Counterexample | None = None
    written_by: tuple[str, str] = ("", "")
    doubted: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    tried: tuple[Mapping[str, int], ...] = ()
    assumed: str = ""

    def __bool__(self) -> bool:
        return self.answer == EQUAL

    def __str__(self) -> str:
        shown = {EQUAL: self._equal, DIFFERENT: self._different, UNKNOWN: self._unknown}
        lines = shown[self.answer]()
        if self.types:
            said = ", ".join(f"{name}: {dtype}" for name, dtype in sorted(self.types.items()))
            lines.append(f"  with types that are not declared: {said}")
        if self.assumed:
            lines.append(f"  for sizes that both permit: {self.assumed}")
        lines += [f"  if data fulfils this: {what}" for what in self.owed]
        return "\n".join(lines)

    def _equal(self) -> list[str]:
        how = ", up to rounding: sums and products are arranged otherwise" if self.rounding else ""
        return [f"equal: proved for all sizes and data{how}"]

    def _different(self) -> list[str]:
        found = self.counterexample
        assert found is not None
        lines = [f"different: {_call(found.sizes)}, {_element(found)} is"]
        for name, value, by in zip(self.names, found.values, self.written_by, strict=True):
            lines.append(f"  {value} in the {name}{by and f', by {by}'}")
        return lines

    def _unknown(self) -> list[str]:
        lines = [f"not decided: it is not proved that {what} is the same" for what in self.doubted]
        lines += [f"  {obstacle}" for obstacle in self.obstacles[:_MOST_OBSTACLES]]
        if self.tried:
            calls = "; ".join(map(_sizes, self.tried))
            lines.append(f"  but both left the same, up to rounding, of random numbers: {calls}")
        return lines


@public
def equivalent(
    first: Kernel | TranslationUnit,
    second: Kernel | TranslationUnit,
    *,
    allow_verbatim: bool = True,
) -> Equivalence:
    """Tell whether two kernels compute the same: proved, or shown by a call, or not decided.

    They do if all calls with the same arguments leave the same in all arrays.  What instructions,
    inames and temporaries are called does not matter, nor do loops, tags and the order of
    instructions; arguments are the same if their names are.  It is not asked which steps lead from
    one to the other.

    Numbers that are added up or multiplied may be combined in another order, where both kernels
    permit that (the option ``allow_reassociation``): then they are equal up to rounding.  What is
    called (functions) is taken to be the same if its name and arguments are.  Zeros are equal,
    whatever their sign: the greater of -0.0 and 0.0 is either.

    Parameters:
        first: a kernel, or a program with one entry point.
        second: another one, with the same arguments.
        allow_verbatim: whether kernels may be run that have verbatim C, functions or preambles of
            their own, or build options: what these do is not limited to the kernels' arrays.

    Returns:
        What is true if they are equal, and has the counterexample if they differ; print it.  If it
        is neither proved nor refuted by runs in C on random numbers, the answer is ``"unknown"``.

    Raises:
        KernelsDiffer: if an argument is one of a single kernel, or has another type or shape.
        IllFormedKernel: if the result of a kernel is not determined.
        TypeNotFound, TypeMismatch: if there are no types for the arguments.

    >>> import polygen as pg
    >>> whole = pg.make_kernel("{ [i]: 0<=i<8*n }", "out[0] = sum(i, a[i])")
    >>> parts = pg.make_kernel(
    ...     "{ [i, k]: 0<=i<n and 0<=k<8 }",
    ...     [
    ...         "p[k] = 0 {inames=k, id=start}",
    ...         "p[k] = p[k] + a[8*i+k] {id=add, dep=start}",
    ...         "out[0] = sum(k, p[k]) {dep=add}",
    ...     ],
    ...     [pg.TemporaryVariable("p", shape=(8,)), "..."],
    ... )
    >>> print(pg.equivalent(whole, parts))
    equal: proved for all sizes and data, up to rounding: sums and products are arranged otherwise
      with types that are not declared: a: float64
    >>> other = pg.make_kernel("{ [i]: 0<=i<8*n }", "out[0] = sum(i, a[i]*a[i])")
    >>> pg.equivalent(whole, other).answer
    'different'

    Source: the comparison of dataflow graphs follows S. Verdoolaege, G. Janssens, M. Bruynooghe,
    "Equivalence checking of static affine programs using widening to handle recurrences", TOPLAS
    34(3), 2012.
    """
    kernels = _kernel(first), _kernel(second)
    with with_proofs():
        found = _compared(*kernels, allow_verbatim=allow_verbatim)
        return replace(found, assumed=_assumed(*kernels))


def _kernel(given: Kernel | TranslationUnit) -> Kernel:
    return given if isinstance(given, Kernel) else given.default_entrypoint


def _assumed(first: Kernel, second: Kernel) -> str:
    one, other = (kernel.assumptions.flat for kernel in (first, second))
    if one.is_equal(other):
        return ""
    return str(one.intersect(other).coalesce())


def _compared(first: Kernel, second: Kernel, *, allow_verbatim: bool) -> Equivalence:
    for kernel in (first, second):
        check_well_formed(kernel)
    check_arguments(first, second)
    first, second, types = with_common_types(first, second)
    owed = tuple(dict.fromkeys(str(o) for kernel in (first, second) for o in obligations(kernel)))
    names = ("first", "second")
    doubts, rounding, obstacles = _proved(first, second)
    if not doubts and not obstacles:
        return Equivalence(EQUAL, names, rounding, types, owed)
    verbatim = () if allow_verbatim else (*verbatim_parts(first), *verbatim_parts(second))
    claimed = (*_in_any_order(first), *_in_any_order(second))
    runs = (
        Runs(None, (), _NOT_RUN.format(verbatim[0]))
        if verbatim
        else Runs(None, (), _TELLS_NOTHING.format(claimed[0]))
        if claimed
        else counterexample(first, second, [doubt.points for doubt in doubts])
    )
    if runs.found is not None:
        by = tuple(_writer(kernel, runs.found) for kernel in (first, second))
        return Equivalence(DIFFERENT, names, False, types, owed, runs.found, (by[0], by[1]))
    return _undecided(names, types, owed, doubts, obstacles, runs)


def _undecided(
    names: tuple[str, str],
    types: Mapping[str, str],
    owed: tuple[str, ...],
    doubts: Sequence[Unproved],
    obstacles: tuple[str, ...],
    runs: Runs,
) -> Equivalence:
    if runs.why_none:
        obstacles = (*obstacles, f"and no call could be tried: {runs.why_none}")
    doubted = tuple(map(_doubt, doubts)) or ("what they leave",)
    return Equivalence(
        UNKNOWN,
        names,
        types=types,
        owed=owed,
        doubted=doubted,
        obstacles=obstacles,
        tried=runs.sizes,
    )


def _proved(first: Kernel, second: Kernel) -> tuple[tuple[Unproved, ...], bool, tuple[str, ...]]:
    """Return what is not proved, whether the rest is up to rounding, and what stands in the way."""
    kernels = _alike(first.expanded), _alike(second.expanded)
    if kernels[0] == kernels[1]:
        return (), False, ()
    chance = _by_chance(*kernels)
    doubts, rounding, obstacles = by_dataflow(*kernels) if not chance else ((), False, chance)
    if not doubts and not obstacles:
        return (), rounding, ()
    ids = [{insn.id for insn in kernel.instructions} for kernel in kernels]
    if ids[0] == ids[1] and is_proved(*kernels):
        return (), reordered(*kernels, UNMOVED, rounding=True) is not None, ()
    return doubts, rounding, obstacles


def _alike(kernel: Kernel) -> Kernel:
    """Return a kernel without what says nothing of its result: its name, the order of arguments."""
    arguments = tuple(sorted(kernel.arguments, key=lambda arg: arg.name))
    return kernel.copy(name="kernel", arguments=arguments, target=None)


def _by_chance(first: Kernel, second: Kernel) -> tuple[str, ...]:
    """Return where data decides whether a result depends on chance: there is no one dataflow."""
    owed = dict.fromkeys(o for kernel in (first, second) for o in obligations(kernel))
    claimed = dict.fromkeys((*_in_any_order(first), *_in_any_order(second)))
    return (
        *[f"data decides whether this holds: {o}" for o in owed if o.kind != INSIDE],
        *[f"'{insn_id}' returns old values in any order" for insn_id in claimed],
    )


def _in_any_order(kernel: Kernel) -> tuple[str, ...]:
    """Return the ids of what returns old values in an order that is left open."""
    return tuple(
        [i.id for i in kernel.expanded.assignments if i.atomicity and i.atomicity.any_order]
    )


def by_dataflow(
    first: Kernel, second: Kernel
) -> tuple[tuple[Unproved, ...], bool, tuple[str, ...]]:
    """Return the same as `_proved`, by nothing but the dataflow."""
    kernels = first, second
    reorders = all(kernel.options.allow_reassociation for kernel in kernels)
    doubts: tuple[Unproved, ...] = ()
    try:
        for rounding in (False, True) if reorders else (False,):
            with limited_comparison():
                doubts = unproved(first, second, reorders=rounding)
            if not doubts:
                return (), rounding, ()
    except ProofLimit as error:
        return doubts, False, (error.what,)
    return doubts, False, tuple(dict.fromkeys(o for d in doubts for o in d.obstacles))


def check_arguments(first: Kernel, second: Kernel) -> None:
    """Check that two kernels can be called alike."""
    for one, other in ((first, second), (second, first)):
        for arg in one.arguments:
            has = arg.name in {a.name for a in other.arguments}
            if not has and arg.name in _used(one.expanded):
                raise _differ(
                    f"kernel '{one.name}' has the argument '{arg.name}', and kernel "
                    f"'{other.name}' has not"
                )
    known = first.assumptions.flat.intersect(second.assumptions.flat)
    for arg in first.arguments:
        twin = second.variables.get(arg.name)
        if isinstance(arg, GlobalArg) != isinstance(twin, GlobalArg) and twin is not None:
            raise _differ(f"'{arg.name}' is an array in one kernel only")
        if isinstance(arg, GlobalArg) and isinstance(twin, GlobalArg):
            _check_shapes(arg, twin, known)


def _used(kernel: Kernel) -> frozenset[str]:
    """Return the names on which what a kernel computes depends, or which it writes."""
    found = {name for domain in kernel.domains for name in domain.parameters}
    for insn in kernel.instructions:
        found.update(insn.read_names, insn.written_names)
    return frozenset(found)


def _check_shapes(first: GlobalArg, second: GlobalArg, known: isl.Set) -> None:
    shapes = first.shape or (), second.shape or ()
    same = len(shapes[0]) == len(shapes[1])
    for one, other in zip(*shapes, strict=False):
        sizes = to_pw_aff(one), to_pw_aff(other)
        if sizes[0] is None or sizes[1] is None:
            same = same and one == other
        else:
            same = same and known.intersect(sizes[0].ne_set(sizes[1])).is_empty()
    if not same:
        shown = [f"({', '.join(map(str, shape))})" for shape in shapes]
        raise _differ(
            f"'{first.name}' has the shape {shown[0]} in one kernel, {shown[1]} in the other"
        )


def _differ(what: str) -> KernelsDiffer:
    return KernelsDiffer(
        what, where=caller_location(), remedy="kernels are compared that are called alike"
    )


# --- texts


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(sizes.items())) or "without sizes"


def _call(sizes: Mapping[str, int]) -> str:
    return f"for {_sizes(sizes)} and random numbers" if sizes else "for random numbers"


def _element(found: Counterexample) -> str:
    index = ", ".join(map(str, found.index))
    return f"{found.name}[{index}]" if index else f"'{found.name}'"


def _doubt(doubt: Unproved) -> str:
    point = witness(doubt.points)
    index = ", ".join(str(point.get(axis, "...")) for axis in doubt.axes)
    sizes = {n: v for n, v in point.items() if not n.startswith("__")}
    return f"{doubt.name}[{index}]" + (f" for {_sizes(sizes)}" if sizes else "")


def _writer(kernel: Kernel, found: Counterexample) -> str:
    """Return what writes an array, if one instruction does."""
    writers = kernel.expanded.writers.get(found.name, ())
    return show_work(writers[0]) if len(writers) == 1 else ""
