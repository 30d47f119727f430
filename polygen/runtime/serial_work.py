"""Work that one work item of a GPU does alone: nobody asks for that, and nothing else shows it.

Of a launch without axes, that is all work.  Of others, it is what is on no axis and writes memory
that work items share: the first one executes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from polygen.analysis.proving import with_proofs
from polygen.errors import NotParallel, UserError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_on_axis, is_parallel
from polygen.ir.told import is_news
from polygen.lower.program import (
    Assign,
    Block,
    Call,
    Declare,
    HostLoop,
    HostNode,
    If,
    Launch,
    Loop,
    LoopProgram,
    Verbatim,
)
from polygen.runtime.evaluate import value_of
from polygen.source import warn
from polygen.transforms._likely import likely_extent
from polygen.transforms.tag_inames import tag_inames

_FEW = 1024  # times: these take as long as a launch or two
_GROUP = 256
_WORTH_ITEMS = 32  # iterations of a loop
_AXES = 3
_INTEGERS = (int, ex.Variable, ex.Sum, ex.Product, ex.FloorDiv, ex.Remainder, ex.Min, ex.Max)


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
    for launch in _launches(program.host):
        counts: Counter[str] = Counter()
        _count(launch.body, 1, sizes, functions, counts)
        for statement, times in counts.items():
            name = _part_of(statement, insns)
            if name is not None and (not launch.axes or _is_for_one(kernel, insns[name])):
                found[name] = max(found[name], times)
    return dict(found)


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


def _launches(host: Sequence[HostNode]) -> Iterator[Launch]:
    for node in host:
        if isinstance(node, HostLoop):
            yield from _launches(node.body)
        else:
            yield node


# --- how often statements are executed, where sizes say it; what data decides is one iteration


def _count(
    block: Block,
    times: int,
    values: Mapping[str, int],
    functions: Mapping[str, LoopProgram],
    counts: Counter[str],
) -> None:
    for node in block:
        if isinstance(node, Assign | Verbatim):
            counts[node.insn_id] += times
        elif isinstance(node, Declare) and node.constant:
            value = _known(node.initial, values)
            values = values if value is None else {**values, node.name: value}
        elif isinstance(node, Call):
            counts[node.insn_id] += times * _most_in_call(node, values, functions)
        elif isinstance(node, If):
            _count(node.body, times, values, functions, counts)
        elif isinstance(node, Loop):
            _count_in_loop(node, times, values, functions, counts)


def _count_in_loop(
    loop: Loop,
    times: int,
    values: Mapping[str, int],
    functions: Mapping[str, LoopProgram],
    counts: Counter[str],
) -> None:
    lower, upper = _known(loop.lower, values), _known(loop.upper, values)
    length = 1
    if lower is not None and upper is not None:
        length = len(range(lower, upper, loop.step))
        values = {**values, loop.iname: (lower + upper) // 2}  # of a triangle, the mean
    _count(loop.body, times * length, values, functions, counts)


def _most_in_call(
    call: Call, values: Mapping[str, int], functions: Mapping[str, LoopProgram]
) -> int:
    """Return how often what a call executes most is executed in it."""
    given = zip(call.parameters, call.arguments, strict=True)
    known = {p.name: v for p, a in given if (v := _known(a, values)) is not None}
    counts: Counter[str] = Counter()
    for launch in _launches(functions[call.function].host):
        _count(launch.body, 1, known, functions, counts)
    return max(counts.values(), default=0)


def _known(node: Expression | None, values: Mapping[str, int]) -> int | None:
    """Return the value of an integer expression, if sizes and loops around say it."""
    if node is None or not walk.free_variables(node) <= values.keys():
        return None
    if not all(isinstance(part, _INTEGERS) for part in walk.subexpressions(node)):
        return None
    return value_of(node, values)


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
