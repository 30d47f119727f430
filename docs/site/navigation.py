"""How the pages hang together: what a page lists is what stands below it in the site."""

from __future__ import annotations

import re

_HEADING = re.compile(r"^(?:## (.+)|\*\*(.+)\*\*)$")
_ITEM = re.compile(r"^- \[.*?\]\(([\w./-]+)\.(?:md|rst)\)")


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
