"""How the pages hang together: what a page lists is what stands below it in the site."""

from __future__ import annotations

import re
from pathlib import Path

_HEADING = re.compile(r"^(?:## (.+)|\*\*(.+)\*\*)$")
_ITEM = re.compile(r"^- \[.*?\]\(([\w./-]+)\.(?:md|rst|markdown)\)")


# Pages of the repository that are in the site as well, by their names there.
OUTSIDE = {"CONTRIBUTING.md": "contributing.markdown", "CHANGELOG.md": "changelog.markdown"}


def write_outside_pages(root: Path, folder: Path) -> None:
    """Write the pages that stand outside of the folder with all others into it.

    Parameters:
        root: where they stand.
        folder: where the others do: `docs`.
    """
    for name, inside in OUTSIDE.items():
        file = folder / inside
        text = (root / name).read_text().replace("](docs/", "](")
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def with_inside_links(text: str) -> str:
    """Return a page with links to the pages inside of the site for those to pages outside.

    >>> with_inside_links("See [there](../CONTRIBUTING.md), [here](tutorial.md).")
    'See [there](contributing.markdown), [here](tutorial.md).'
    """
    for name, inside in OUTSIDE.items():
        text = text.replace(f"](../{name}", f"]({inside}")
    return text


def with_navigation(text: str) -> str:
    r"""Return a page with a hidden table of contents for each of its lists of pages.

    A list of pages is one under a heading, or under a line in bold letters, whose items begin with
    links to pages.

    >>> print(with_navigation("## Guides\n\n- [Tuning](tuning.md): ...\n"))
    ## Guides
    <BLANKLINE>
    - [Tuning](tuning.md): ...
    <BLANKLINE>
    ```{toctree}
    :hidden:
    :caption: Guides
    <BLANKLINE>
    tuning
    ```
    <BLANKLINE>
    """
    lists: dict[str, list[str]] = {}
    heading = ""
    for line in text.splitlines():
        title = _HEADING.match(line)
        heading = (title[1] or title[2]) if title else heading
        item = _ITEM.match(line)
        if item:
            lists.setdefault(heading, []).append(item[1])
    trees = [
        f"```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(pages) + "\n```\n"
        for title, pages in lists.items()
    ]
    return text + "\n" + "\n".join(trees)
