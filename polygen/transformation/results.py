"""The consequences of a step for its kernel's variables, rules and separations."""

from __future__ import annotations

from typing import cast

import numpy as np

from polygen.analysis.access.instance_map import at_new_instance
from polygen.analysis.expansion.inlining import parts_of_calls
from polygen.analysis.values.sound_accesses import is_sound, note_sound
from polygen.analysis.wellformed.access_order import deciding_nests
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.bounding import bounding
from polygen.ir.changed import changed
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.ids import with_ids
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import SubstitutionRule
from polygen.ir.verify import verify
from polygen.language.kernel_data import normalised
from polygen.proof import Rearranged


def under_its_ids(kernel: Kernel, result: Rearranged) -> Kernel:
    """Return the kernel before a step, with the ids that the step says."""
    if not result.ids:
        return kernel
    renamed = with_ids(kernel, result.ids)
    verify(renamed)  # no two instructions may become one
    if is_sound(kernel.expanded):
        note_sound(renamed.expanded)
    return renamed


def expanded(result: Rearranged) -> Rearranged:
    """Return the result without rules and calls; what it says of a call is true of all of it."""
    parts = parts_of_calls(result.kernel)
    said = {
        part: values
        for insn_id, values in result.by_instruction.items()
        for part in parts.get(insn_id, (insn_id,))
    }
    return changed(result, kernel=result.kernel.expanded, by_instruction=said)


def with_variables(result: Rearranged) -> Rearranged:
    """Return the result with the types and shapes of new variables as all kernels have them.

    Raises:
        InvalidArgument, MalformedExpression: if there is no such type or shape.
    """
    kernel = result.kernel
    given = (*kernel.arguments, *kernel.temporaries)
    if all(map(_is_normal, given)):
        return result
    arguments = tuple([v if _is_normal(v) else normalised(v) for v in kernel.arguments])
    temporaries = tuple([v if _is_normal(v) else normalised(v) for v in kernel.temporaries])
    return changed(result, kernel=kernel.copy(arguments=arguments, temporaries=temporaries))


def _is_normal(variable: object) -> bool:
    dtype = getattr(variable, "dtype", None)
    shape = getattr(variable, "shape", ())
    if not (dtype is None or isinstance(dtype, np.dtype)) or not isinstance(shape, tuple):
        return False
    extents = cast("tuple[object, ...]", shape)
    return all(isinstance(extent, _EXTENTS) for extent in extents)


_EXTENTS = (int, ex.ExpressionNode)


def with_rules(result: Rearranged) -> Rearranged:
    """Let the reductions in substitution rules run over the new inames.

    What else a rule has to do with inames is said where it is invoked: see `ex.Invocation`.
    """
    kernel = result.kernel
    if result.by_instruction or not (result.values and kernel.substitutions):
        return result

    def moved(rule: SubstitutionRule) -> SubstitutionRule:
        reduced = walk.reduction_inames(rule.expression)
        values = {i: value for i, value in result.values.items() if i in reduced}
        body = at_new_instance(rule.expression, frozenset(), values, kernel.inames)
        return changed(rule, expression=body)

    rules = tuple(moved(rule) for rule in kernel.substitutions)
    return changed(result, kernel=kernel.copy(substitutions=rules))


def with_separations(before: Kernel, result: Rearranged) -> Rearranged:
    """Return the result with the separations of the kernel before in terms of the new inames.

    What says something of an iname that is gone for good is left out.
    """
    kernel = result.kernel
    if not kernel.separations:
        return result
    known = {*kernel.inames, *kernel.parameters, *bounding(kernel, kernel.inames)}
    maps = [values for values in (result.values, *result.by_instruction.values()) if values]
    moved = NO_NAMES.union(*maps)
    earlier = frozenset(before.separations) if moved else NO_NAMES
    found: dict[Expression, None] = {}
    for condition in kernel.separations:
        names = walk.free_variables(condition)
        if names.isdisjoint(moved) or condition not in earlier:
            found |= {condition: None} if names <= known else {}
            continue
        forms = [condition] if names.isdisjoint(result.values) else []
        forms += [walk.substitute(condition, values) for values in maps]
        found |= dict.fromkeys(f for f in forms if walk.free_variables(f) <= known)
    separations = tuple(found)
    if separations == kernel.separations:
        return result
    return changed(result, kernel=kernel.copy(separations=separations))


def with_nests(result: Rearranged) -> Rearranged:
    """Return the result with priorities that say which loops are outside, where that matters.

    The step was proved for the loops as they are nested: one that leaves open what the loops
    before decided, or had no say in, makes that a part of the kernel.
    """
    kernel = result.kernel
    nests = [n for n in deciding_nests(kernel.expanded) if all(i in kernel.inames for i in n)]
    if not nests:
        return result
    new = kernel.copy(priorities=(*kernel.priorities, *nests))
    if is_sound(kernel.expanded):
        note_sound(new.expanded)
    return changed(result, kernel=new)
