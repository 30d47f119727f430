"""The pages of the reference that are made from docstrings: one for each group of names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import polygen as pg
from docs.site.names import Group, groups, resolve
from polygen.transformation import Kind

_CODE = re.compile(r"(?<![`:\w\\])`([^`\n]+)`(?![`_])")
# Up to a full stop that is in no code.
_SENTENCE = re.compile(r"(?:``.*?``|[^`]|`[^`]*`)*?[.](?=\s|$)")
_LABEL = re.compile(r"^(\s*)(Kind|Requires|Source|Before -> After):(?=\s|$)")


def summary(what: Any) -> str:
    """Return the first sentence of a thing's docstring, or what else there is to say of it."""
    kind = _argument_kind(what)
    if kind is not None:
        return f"{kind.what[0].upper()}{kind.what[1:]}."
    if isinstance(what, str | tuple):
        return f"{what!r}"
    text = " ".join((inspect.getdoc(what) or "").partition("\n\n")[0].split())
    sentence = _SENTENCE.match(text)
    return text if sentence is None else sentence[0]


def _argument_kind(what: Any) -> Kind | None:
    """Return what an annotation says of an argument, if it is one."""
    found = [part for part in get_args(what) if isinstance(part, Kind)]
    return found[0] if found else None


def entry(group: Group, name: str) -> Iterator[str]:
    """Return the lines of one entry."""
    path = f"{group.module}.{name}"
    what = resolve(path)
    is_kind, last = _argument_kind(what) is not None, name.rpartition(".")[2]
    if not is_kind and getattr(what, "__name__", last) != last:
        yield from _plain(path, f"Another name of {reference(what.__name__) or what.__name__}.")
    elif inspect.isclass(what):
        yield f".. autoclass:: {path}"
        if issubclass(what, Enum):
            yield "   :members:\n   :undoc-members:"
        elif not issubclass(what, BaseException):
            yield "   :members:"
            if _is_in_parts(what):
                yield "   :inherited-members:"
        elif group.module == "polygen.errors":
            yield f"\n   `Example <../../errors.html#{name.lower()}>`__"
    elif callable(what) and not is_kind and hasattr(what, "__name__"):
        yield f".. autofunction:: {path}"
    else:
        yield from _plain(path, linked(summary(what)))
    yield ""


def _plain(path: str, text: str) -> Iterator[str]:
    """Return the lines of an entry that is no function's or class's."""
    yield f".. py:data:: {path}"
    yield ""
    yield f"   {text}"


def page(group: Group) -> str:
    """Return the text of a group's page: a table of the names, and then their entries."""
    lines = [group.title, "=" * len(group.title), "", group.about, ""]
    lines += [".. list-table::", "   :widths: 30 70", "   :class: names", ""]
    for name in group.names:
        path = f"{group.module}.{name}"
        lines += [
            f"   * - :py:obj:`{name.rpartition('.')[2]} <{path}>`",
            f"     - {linked(summary(resolve(path)))}",
        ]
    lines += ["", ""]
    for name in group.names:
        lines += entry(group, name)
    return "\n".join(lines)


def write_pages(folder: Path) -> None:
    """Write the page of each group, and one that lists them; what is there already may stay."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {group.page: page(group) for group in groups()}
    for name, text in texts.items():
        file = folder / f"{name}.rst"
        if not file.exists() or file.read_text() != text:
            file.write_text(text)
    for file in folder.glob("*.rst"):
        if file.stem not in texts:
            file.unlink()


def linked(text: str) -> str:
    """Return a line of a docstring with its names in code: those that have an entry are links."""

    def code(match: re.Match[str]) -> str:
        end = "\\ " if text[match.end() :][:1].isalnum() else ""  # as in "`Component`s"
        return (reference(match[1]) or f"``{match[1]}``") + end

    return _CODE.sub(code, text)


def reference(code: str) -> str | None:
    """Return the link to what a piece of code names, if that has an entry."""
    path = entry_of(code)
    return None if path is None else f":py:obj:`{code} <{path}>`"


def entry_of(code: str) -> str | None:
    """Return the path of the public thing that `code` names or calls, None if there is none.

    >>> entry_of("pg.split_iname"), entry_of("split_iname(knl, ...)"), entry_of("Kernel.copy")
    ('polygen.split_iname', 'polygen.split_iname', 'polygen.Kernel.copy')
    """
    name = code.partition("(")[0].removeprefix("polygen.").removeprefix("pg.")
    first, _, rest = name.partition(".")
    if first == "errors" and rest in _errors():
        return f"polygen.errors.{rest}"
    if first in pg.__all__ and first != "errors":
        return f"polygen.{first}" + (f".{rest}" if rest and _is_member(first, rest) else "")
    return f"polygen.errors.{name}" if name in _errors() else None


def _errors() -> dict[str, Any]:
    return {n: kind for n, kind in vars(pg.errors).items() if inspect.isclass(kind)}


def _is_member(name: str, member: str) -> bool:
    """Tell whether a class has a member that has an entry of its own: a method or property."""
    found = inspect.getattr_static(getattr(pg, name), member, None)
    return callable(found) or hasattr(found, "fget") or hasattr(found, "func")


_ITEM = re.compile(r"^    ((?:\w+, )*\w+): ")


def attributes(lines: list[str]) -> dict[str, list[str]]:
    """Return what the section *Attributes* of a docstring says of each one, as lines."""
    found: dict[str, list[str]] = {}
    inside, name = False, ""
    for line in lines:
        if line and not line.startswith(" "):
            inside = line == "Attributes:"
        elif inside and line:
            item = _ITEM.match(line)
            name = item[1] if item else name
            found.setdefault(name, []).append(line)
    return found


def _is_in_parts(what: type) -> bool:
    """Tell whether bases have methods that users know as those of a class."""
    found = (value for base in what.__mro__[1:] for value in vars(base).values())
    return any(
        str(getattr(value, "__qualname__", "")).startswith(f"{what.__name__}.") for value in found
    )


def with_inherited_attributes(what: type, lines: list[str]) -> list[str]:
    """Return a class's docstring with what its bases say of attributes that it does not mention."""
    known = attributes(lines)
    more: dict[str, list[str]] = {}
    for base in what.__mro__[1:]:
        if base.__module__.startswith("polygen."):
            more = attributes(((base.__doc__ and inspect.getdoc(base)) or "").splitlines()) | more
    new = [line for name, said in more.items() if name not in known for line in said]
    if not new:
        return lines
    if not known:
        return [*lines, "", "Attributes:", *new, ""]
    last = max(lines.index(said[-1]) for said in known.values()) + 1
    return [*lines[:last], *new, *lines[last:]]


def as_restructured_text(lines: list[str]) -> list[str]:
    """Return a docstring's lines as the site's generator takes them.

    Examples keep their empty lines; labels stand out; names are links.
    """
    found: list[str] = []
    example: str | None = None  # the margin of the example that is being read
    for line in _examples_outside(lines):
        text = line.strip()
        if example is None and text.startswith(">>>"):
            example = line[: len(line) - len(line.lstrip())]
            if found and found[-1].strip():
                found.append("")
            found += [f"{example}.. code-block:: pycon", ""]
        if example is not None:
            if text:
                found.append("   " + ("" if text == "<BLANKLINE>" else line))
                continue
            example = None
        found.append(linked(_LABEL.sub(r"\1**\2:**", line)))
    return found


def _examples_outside(lines: list[str]) -> Iterator[str]:
    """Return the lines, those below `Before -> After` as far outside as that is."""
    margin: int | None = None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if margin is not None and line.strip() and depth <= margin:
            margin = None
        yield line if margin is None else line[4:]
        if line.strip() == "Before -> After:":
            margin = depth


class _Text(str):
    """A text that is shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def signature(what: Any) -> str | None:
    """Return a function's arguments as they are written, types by the names that they have there.

    None stands for what has no signature.

    >>> signature(pg.untag_inames)
    '(kernel: Kernel, iname_to_untag: Inames, tag_type: TagType | None = None) -> Kernel'
    """
    try:
        given = inspect.signature(what)
    except (TypeError, ValueError):
        return None
    parameters = [p for p in given.parameters.values() if p.name != "self"]
    shown = [p.replace(annotation=_as_written(p.annotation)) for p in parameters]
    returned = _as_written(given.return_annotation)
    return str(given.replace(parameters=shown, return_annotation=returned))


def _as_written(annotation: Any) -> Any:
    return _Text(annotation) if isinstance(annotation, str) else annotation
