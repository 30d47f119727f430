"""Work that one work item of a GPU does alone: nobody asks for that, and nothing else shows it.

Of a launch without axes, that is all work.  Of others, it is what is on no axis and writes memory
that work items share: the first one executes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from polygen.analysis.integers.proving import with_proofs
from polygen.errors import NotParallel, UserError
from polygen.ir.array import AddressSpace
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_on_axis, is_parallel
from polygen.ir.told import is_news
from polygen.lower.executed import executed_in, known_value
from polygen.lower.program import Assign, Call, Launch, LoopProgram, Verbatim
from polygen.source import warn
from polygen.targets.programs.launches import calls_library, launches_of
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.loops.size_estimates import likely_extent

_FEW = 1024  # times: these take as long as a launch or two
_GROUP = 256
_WORTH_ITEMS = 32  # iterations of a loop
_AXES = 3


def warn_of_serial_work(kernel: Kernel, program: LoopProgram, sizes: Mapping[str, int]) -> None:
    """Warn, once a kernel, of what one work item of a GPU executes often.

    Parameters:
        kernel: the kernel, with types, without rules.
        program: what was made of it.
        sizes: the values of all sizes.
    """
    if NotParallel.__name__ in kernel.options.silenced_warnings:
        return
    counts = {name: n for name, n in serial_work(kernel, program, sizes).items() if n > _FEW}
    if not counts or not is_news(kernel, (NotParallel, *counts)):
        return
    most = max(counts, key=lambda name: counts[name])
    shown = " and ".join(f"'{name}' {count} times" for name, count in counts.items())
    what = "it" if len(counts) == 1 else "them"
    warn(
        NotParallel(
            f"kernel '{kernel.name}': one work item of the GPU executes {shown} or so, alone: no "
            f"loop around {what} is on an axis of the grid ({_remedy(kernel, most)})"
        )
    )


def serial_work(kernel: Kernel, program: LoopProgram, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return how often one work item executes instructions that no others share, by their ids."""
    insns = _instructions(kernel)
    functions = {function.name: function for function in program.functions}
    found: Counter[str] = Counter()
    for launch in launches_of(program.host):
        if calls_library(launch, program):
            continue
        counts = _counts(launch, sizes, functions)
        for statement, times in counts.items():
            name = _part_of(statement, insns)
            if name is not None and (not launch.axes or _is_for_one(kernel, insns[name])):
                found[name] = max(found[name], times)
    return dict(found)


def _counts(
    launch: Launch, values: Mapping[str, int], functions: Mapping[str, LoopProgram]
) -> Counter[str]:
    """Return how often each instruction is executed, by the ids of its statements."""
    counts: Counter[str] = Counter()
    for node, times, known in executed_in(launch.body, values):
        counts[node.insn_id] += times * _most_in(node, known, functions)
    return counts


def _most_in(
    node: Assign | Verbatim | Call, values: Mapping[str, int], functions: Mapping[str, LoopProgram]
) -> int:
    """Return how often what a statement executes most is executed in it."""
    if not isinstance(node, Call):
        return 1
    given = zip(node.parameters, node.arguments, strict=True)
    known = {p.name: v for p, a in given if (v := known_value(a, values)) is not None}
    counts: Counter[str] = Counter()
    for launch in launches_of(functions[node.function].host):
        counts += _counts(launch, known, functions)
    return max(counts.values(), default=0)


def _part_of(statement: str, insns: Mapping[str, Instruction]) -> str | None:
    """Return the instruction that a statement is part of: what updates a sum is ``SUM_update``."""
    if statement in insns:
        return statement
    return max((name for name in insns if statement.startswith(f"{name}_")), key=len, default=None)


def _instructions(kernel: Kernel) -> dict[str, Instruction]:
    """Return all instructions, calls and what these stand for alike."""
    both = (*kernel.expanded.instructions, *kernel.instructions)
    return {insn.id: insn for insn in both}


def _is_for_one(kernel: Kernel, insn: Instruction) -> bool:
    """Tell whether the first work item executes an instruction in launches that have more."""
    inames = insn.within_inames | insn.reduction_inames
    if any(is_on_axis(kernel.tags.get(iname)) for iname in inames):
        return False
    written = insn.written_names & kernel.expanded.variables.keys()
    spaces = {kernel.expanded.address_space(name) for name in written}
    return bool(spaces - {AddressSpace.PRIVATE})


# --- what to do about it


def _remedy(kernel: Kernel, insn_id: str) -> str:
    """Say which steps spread an instruction over the grid."""
    insn = _instructions(kernel)[insn_id]
    by_recipe = "optimize_reductions shares its reductions" if insn.reduction_inames else ""
    inames = _free(kernel, insn)
    if not inames:
        return by_recipe or (
            "as they are, iterations of its loops need each other; kernel.executor('c') runs it "
            "on a processor"
        )
    first, *others = inames
    steps = f"split_iname(kernel, '{first}', {_GROUP}, outer_tag='g.0', inner_tag='l.0')"
    if others:
        tags = ", ".join(f"'{iname}': 'g.{axis}'" for axis, iname in enumerate(others, 1))
        steps += f" and tag_inames(kernel, {{{tags}}})"
    end = "s it" if not others else " it"
    return f"{steps} spread{end}" + (f"; {by_recipe}" if by_recipe else "")


def _free(kernel: Kernel, insn: Instruction) -> list[str]:
    """Return inames of an instruction that may be on axes together, that of the first one first."""
    inames = [
        iname
        for iname in reversed(kernel.inames)
        if iname in insn.within_inames and not is_parallel(kernel.tags.get(iname))
    ]
    tags: dict[str, str] = {}
    for iname in sorted(inames, key=lambda i: likely_extent(kernel, i) < _WORTH_ITEMS):
        more = {**tags, iname: f"g.{len(tags)}"}
        if len(tags) < _AXES and _may_have(kernel, more):
            tags = more
    return list(tags)


def _may_have(kernel: Kernel, tags: Mapping[str, str]) -> bool:
    with with_proofs():
        try:
            tag_inames(kernel, tags, force=True)
        except UserError:
            return False
    return True
