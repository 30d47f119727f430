"""An account of the calls that waited: what ran together, what did not, and why."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from polygen.lazy.trace import Call
from polygen.python.program import KernelRegion, Program

_MOST = 256


@dataclass
class Together:
    """Calls that ran together.

    Attributes:
        names: what was called, and where.
        programs: their program; none of a call that ran by itself.
        why_not_more: why the calls behind them are not among them.
        count: how often such calls ran.
    """

    names: tuple[str, ...] = ()
    programs: list[Program] = field(default_factory=list[Program])
    why_not_more: str = ""
    count: int = 0


@dataclass
class Account:
    """An account of calls that ran, the newest last.

    Attributes:
        groups: calls that ran together.
        at_once: calls that did not wait, with the reason.
    """

    groups: deque[Together] = field(default_factory=lambda: deque[Together](maxlen=_MOST))
    at_once: dict[str, str] = field(default_factory=dict[str, str])

    def clear(self) -> None:
        """Forget all of it."""
        self.groups.clear()
        self.at_once.clear()


ACCOUNT = Account()


def described(calls: Sequence[Call]) -> tuple[str, ...]:
    """Return what was called, and where, of each call."""
    found: list[str] = []
    for call in calls:
        name = "a kernel" if call.function is None else call.function.source.tree.name
        found.append(f"{name} ({call.where})")
    return tuple(found)


def lazy_report() -> str:
    """Return what became of the calls that waited: what was fused, what was not, and why.

    >>> import polygen.workunits as pk
    >>> from polygen.lazy.report import ACCOUNT
    >>> ACCOUNT.clear()
    >>> print(pk.lazy_report())
    no calls waited
    """
    lines: list[str] = []
    for group in ACCOUNT.groups:
        times = f", {group.count} times" if group.count > 1 else ""
        lines.append(f"{len(group.names)} {'call' if len(group.names) == 1 else 'calls'}{times}:")
        lines += [f"  {name}" for name in group.names]
        lines += _made(group.programs)
        if group.why_not_more:
            lines.append(f"  no more: {group.why_not_more}")
    lines += [f"{name}: at once: {why}" for name, why in ACCOUNT.at_once.items()]
    return "\n".join(lines) or "no calls waited"


def _made(programs: Sequence[Program]) -> list[str]:
    if not programs:
        return ["  by itself"]
    found: list[str] = []
    for step in [one for p in programs for several in p.steps.values() for one in several]:
        if not isinstance(step, KernelRegion):
            found.append(f"  Python: {step.why or 'nothing is repeated'}")
            continue
        for one in step.kernels.scheduled:
            said = [c for c in one.kernel.choices if "fused" in c.what]
            found += [f"  {'done' if c.is_taken else 'not done'}: {c}" for c in said]
    return found
