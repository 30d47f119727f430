"""The two families of errors, and how an error is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Self

from polygen.errors.texts import in_users_words, names_used


class PolygenError(Exception):
    """Base class of all errors of polygen; it lays out their text.

    Parameters:
        what: one or two sentences: what was asked, and why it cannot be.
        where: the place in the user's own file, or None when it is not known.  If it has a method
            `excerpt`, that returns lines of the file to show.
        excerpt: lines of text (a kernel, an instruction) with the culprit marked.
        remedy: what would work instead.
    """

    def __init__(
        self,
        what: str,
        *,
        where: object | None = None,
        excerpt: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(what, where, excerpt, remedy)
        self.what = what
        self.where = where
        self.excerpt = excerpt
        self.remedy = remedy
        # The id of the instruction concerned, until the excerpt is made of it.
        self.insn_id = ""
        # What the user calls the names of a kernel, if a program other than this text has them.
        self.names: Mapping[str, str] = {}
        # The line of a kernel's text that could not be read, from 1; 0 if it is not known.
        self.line = 0

    def __str__(self) -> str:
        lines = [in_users_words(self.what, self.names)]
        if self.where is not None:
            lines.append(f"  at {self.where}")
            read: Callable[[], Iterable[str]] = getattr(self.where, "excerpt", tuple)
            lines += [f"  | {line}" for line in read()]
        if self.excerpt:
            excerpt = in_users_words(self.excerpt, self.names)
            lines += [f"  | {line}" for line in excerpt.splitlines()]
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        if told := self._told_names():
            lines.append(f"  names: {told}")
        return "\n".join(lines)

    def _told_names(self) -> str:
        """Return which of the user's names, among those that are shown, are others in code."""
        text = "\n".join(filter(None, (self.what, self.excerpt, self.remedy)))
        found: dict[str, list[str]] = {}
        for name, called in names_used(text, self.names).items():
            found.setdefault(called, []).append(name)
        told = (f"'{called}' is {' or '.join(names)}" for called, names in found.items())
        return ", ".join(told) + " in the kernel" if found else ""

    def with_names(self, names: Mapping[str, str]) -> Self:
        """Let this error show names as the user wrote them; those that it has stay.

        Parameters:
            names: of all names of a kernel, what the user calls them.
        """
        self.names = {**names, **self.names}
        return self

    def inside(self, step: str) -> Self:
        """Return the same error for whoever took a step that took the one which it is about."""
        new = type(self)(
            f"{step}: {self.what}", where=self.where, excerpt=self.excerpt, remedy=self.remedy
        )
        new.insn_id = self.insn_id
        new.names = self.names
        return new.with_traceback(self.__traceback__)

    def __reduce__(self) -> tuple[object, ...]:
        parts = (self.what, self.where, self.excerpt, self.remedy, dict(self.names))
        return (_rebuild, (type(self), *parts))


def _rebuild(
    kind: type[PolygenError],
    what: str,
    where: object | None,
    excerpt: str | None,
    remedy: str | None,
    names: Mapping[str, str],
) -> PolygenError:
    error = kind(what, where=where, excerpt=excerpt, remedy=remedy)
    return error.with_names(names)


class UserError(PolygenError):
    """Something in the user's kernel, step or call cannot be."""


class InternalError(PolygenError):
    """Polygen contradicts itself: a defect of polygen, not of the user's program."""

    def __str__(self) -> str:
        return (
            super().__str__()
            + "\n  This is a defect of polygen. Please report it, with the kernel "
            "(print(kernel) shows all of it) and the steps that led here."
        )


class PolygenWarning(UserWarning):
    """Base class of all warnings of polygen."""
