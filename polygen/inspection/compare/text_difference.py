"""Shows the difference between two kernels as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher

from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.show import called_kernels, sections, show_head
from polygen.language.programs import TranslationUnit


@public
def diff(first: Kernel | TranslationUnit, second: Kernel | TranslationUnit) -> str:
    """Return the lines in which the texts of two kernels differ; an empty text if they are equal.

    Lines of the first begin with ``-``, those of the second with ``+``.  The title of their section
    stands above them.  One set may be written in several ways, which is no difference.

    Parameters:
        first, second: any two kernels, or programs; of these, kernels of one name are compared.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", ["b[i] = 2*a[i]", "c[i] = b[i]"])
    >>> print(pg.diff(knl, pg.duplicate_inames(knl, "i", within="writes:c")))
    DOMAINS:
    + [n] -> { [i_0] : 0 <= i_0 < n }
    INSTRUCTIONS:
    - [i] c[i] = b[i]  {id=insn_0, dep=insn}
    + [i_0] c[i_0] = b[i_0]  {id=insn_0, dep=insn}
    """
    old, new = _uncalled(first), _uncalled(second)
    if len(old) == len(new) == 1:
        (one,), (other,) = old.values(), new.values()
        return "\n".join(_of_kernels(one, other))
    lines: list[str] = list(_changes(*(sorted(_entrypoints(whole)) for whole in (first, second))))
    lines = ["ENTRY POINTS:", *lines] if lines else []
    for name in sorted({*old, *new}):
        if name in old and name in new:
            changes = _of_kernels(old[name], new[name])
        else:
            changes = list(_changes(_lines(name, old), _lines(name, new)))
        if changes:
            lines += [f"KERNEL {name}:", *changes]
    return "\n".join(lines)


def _uncalled(whole: Kernel | TranslationUnit) -> dict[str, Kernel]:
    """Return the kernels in whose texts all others are, by name."""
    if isinstance(whole, Kernel):
        return {whole.name: whole}
    called = {name for kernel in whole.kernels for name in called_kernels(kernel)}
    return {kernel.name: kernel for kernel in whole.kernels if kernel.name not in called}


def _entrypoints(whole: Kernel | TranslationUnit) -> frozenset[str]:
    return frozenset((whole.name,)) if isinstance(whole, Kernel) else whole.entrypoints


def _lines(name: str, kernels: Mapping[str, Kernel]) -> list[str]:
    return str(kernels[name]).splitlines() if name in kernels else []


def _of_kernels(first: Kernel, second: Kernel) -> list[str]:
    lines = list(_changes(show_head(first), show_head(second)))
    same = _same_sets(first, second)
    for (title, old), (_, new) in zip(sections(first), sections(second), strict=True):
        changes = list(_changes(old, [same.get(line, line) for line in new]))
        if changes:
            lines += [f"{title}:", *changes]
    old_calls, new_calls = called_kernels(first), called_kernels(second)
    for name in sorted({*old_calls, *new_calls}):
        changes = list(_changes(_lines(name, old_calls), _lines(name, new_calls)))
        if changes:
            lines += [f"KERNEL {name}:", *changes]
    return lines


def _same_sets(first: Kernel, second: Kernel) -> dict[str, str]:
    """Return the texts of sets of the second kernel that the first has under another text."""
    old, new = ((*k.domains, k.assumptions) for k in (first, second))
    return {n.text: o.text for n in new for o in old if n == o}


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for tag, i, i_end, j, j_end in matcher.get_opcodes():
        if tag != "equal":
            yield from (f"- {line}" for line in old[i:i_end])
            yield from (f"+ {line}" for line in new[j:j_end])
