"""Whether a site that was made needs nothing from elsewhere: no scripts, styles, fonts or pictures.

python -m docs.site.offline docs/_build/html
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_TAG = re.compile(r"<(?:script|link|img|iframe|source|object)\b[^>]*>")
_PLACE = re.compile(r"""(?:src|href|data)=["']?((?:https?:)?//[^"'\s>]+)""")
_STYLE = re.compile(r"""(?:url\(|@import\s+)["']?((?:https?:)?//[^"')\s]+)""")


def from_elsewhere(text: str, suffix: str) -> list[str]:
    """Return what a file of the site loads from other places; links that readers follow are none.

    >>> from_elsewhere('<a href="https://a.org"> <img src="https://b.org/c.png">', ".html")
    ['https://b.org/c.png']
    >>> from_elsewhere("@import url(//fonts.org/x.css); a {background: url(b.png)}", ".css")
    ['//fonts.org/x.css']
    """
    if suffix == ".css":
        return _STYLE.findall(text)
    return [place for tag in _TAG.findall(text) for place in _PLACE.findall(tag)]


def main() -> int:
    """Print what files load from elsewhere; return how many do."""
    folder = Path(sys.argv[1])
    files = [p for p in folder.rglob("*") if p.suffix in {".html", ".css"}]
    if not files:
        sys.exit(f"there is no site in {folder}")
    found = {p: from_elsewhere(p.read_text(), p.suffix) for p in files}
    guilty = {p: places for p, places in found.items() if places}
    for path, places in guilty.items():
        sys.stderr.write(f"{path}: {', '.join(sorted(set(places)))}\n")
    return len(guilty)


if __name__ == "__main__":
    sys.exit(main())
