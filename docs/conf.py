"""How Sphinx makes the documentation site: `make docs`.

The pages are Markdown that can be read as it is.  What the site adds: navigation, from the lists
of pages on the pages themselves; an entry for every public name, from docstrings; links to these
from names in code.
"""

from __future__ import annotations

import re
import sys
from enum import Enum
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.python import PyObject
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent))

import polygen as pg  # noqa: E402  (found by the line above)
from docs.site import entries, names, navigation  # noqa: E402

project = "polygen"
author = "The polygen developers"
project_copyright = author
version = release = pg.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext", ".markdown": "markdown"}
root_doc = "index"
exclude_patterns = ["_build", "site"]
highlight_language = "none"
pygments_style = "friendly"
smartquotes_action = "D"  # quotes in text are those of code

myst_heading_anchors = 4
# Items such as `[i]` and code with dollars are meant as they stand.
myst_disable_syntax = ["colon_fence", "dollarmath"]

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
napoleon_use_ivar = True
napoleon_use_rtype = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
# Types in signatures are named as the code names them; not each of these has an entry.
nitpick_ignore_regex = [("py:class", ".*")]
# The same: a name such as `MemAccess` is that of several classes. Links have whole names.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"polygen {release}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False

_LOGGER = logging.getLogger(__name__)
_PAGES = Path("reference", "api")
_LISTS = {"index", "reference/README", str(_PAGES)}  # pages whose lists are the navigation


def write_entries(app: Sphinx) -> None:
    """Write the pages that nobody has written, which are found afterwards like the others."""
    navigation.write_outside_pages(DOCS.parent, Path(app.srcdir))
    entries.write_pages(Path(app.srcdir, _PAGES))


def add_navigation(_app: Sphinx, name: str, text: list[str]) -> None:
    """Let the lists of pages be tables of contents; show examples' empty lines as empty."""
    if name == str(_PAGES):
        text[0] += "\n## Pages\n\n" + "\n".join(
            f"- [{g.title}](api/{g.page}.rst)" for g in names.groups()
        )
    text[0] = navigation.with_inside_links(text[0])
    if name in _LISTS:
        text[0] = navigation.with_navigation(text[0])
    # A link that is called by its file gets the title of what it leads to.
    text[0] = re.sub(r"\[[\w/.-]+\.md\]\(", "[](", text[0])
    text[0] = re.sub(r"^<BLANKLINE>$", "", text[0], flags=re.MULTILINE)


def read_docstring(
    _app: Sphinx, what: str, _name: str, obj: Any, _options: Any, lines: list[str]
) -> None:
    """Let what stands in a docstring mean what it means to readers of the source."""
    said = entries.with_inherited_attributes(obj, lines) if what == "class" else lines
    lines[:] = entries.as_restructured_text(said)


def read_signature(
    _app: Sphinx, what: str, _name: str, obj: Any, _options: Any, _args: str, _returns: str
) -> tuple[str, str] | None:
    """Write types as the source does."""
    found = entries.signature(obj) if what in {"function", "method"} else None
    return None if found is None else (found.partition(" -> ")[0], found.partition(" -> ")[2])


def leave_out_fields(
    _app: Sphinx, _what: str, _name: str, obj: Any, skip: bool, _options: Any
) -> bool | None:
    """Leave out fields, which stand under a class's attributes; members of enumerations stay."""
    is_method = callable(obj) or hasattr(obj, "fget") or hasattr(obj, "func")
    return True if not (skip or is_method or isinstance(obj, Enum)) else None


def check_entries(_app: Sphinx, env: BuildEnvironment) -> None:
    """Warn, which is an error, of public names without an entry in what was made."""
    made = env.domains["py"].data["objects"]
    for group in names.groups():
        for name in group.names:
            if f"{group.module}.{name}" not in made:
                _LOGGER.warning("no entry for %s.%s", group.module, name)


# Names that are hardly anything else: `tile` and `Kernel` may be words.
_TELLING = re.compile(r"(pg|polygen)\.|\w+_\w+(\(|$)|[A-Z][a-z]+[A-Z]\w+$")
_STEPS = "reference/steps"  # a page of nothing but names


class NamesToLinks(SphinxTransform):
    """Make a link of each public name that stands in code in a page's text."""

    default_priority = 600

    def apply(self, **_kwargs: Any) -> None:
        """Look through one page; and mark examples that show an error."""
        for block in self.document.findall(nodes.literal_block):
            text = block.astext()
            if "Traceback (most recent" in text or ("\n" not in text and len(text) > 90):
                block["classes"].append("says-long-lines")
            if text != text.rstrip():  # an empty line, which ends what a session prints
                block.rawsource = text.rstrip()
                block.children = [nodes.Text(block.rawsource)]
        for literal in list(self.document.findall(nodes.literal)):
            code = literal.astext()
            if isinstance(literal.parent, nodes.reference | pending_xref | nodes.title):
                continue
            told = _TELLING.match(code) or self.env.docname == _STEPS
            path = entries.entry_of(code) if told else None
            if path is None:
                continue
            link = pending_xref(
                "", refdomain="py", reftype="obj", reftarget=path, refexplicit=True, refwarn=True
            )
            link["refdoc"] = self.env.docname
            literal.replace_self(link)
            link += literal


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect what is above."""
    for kind in PyObject.doc_field_types:
        if kind.name == "variable":
            kind.label = "Attributes"
    app.connect("builder-inited", write_entries)
    app.connect("source-read", add_navigation)
    app.connect("autodoc-process-docstring", read_docstring, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", read_signature)
    app.connect("autodoc-skip-member", leave_out_fields)
    app.connect("env-check-consistency", check_entries)
    app.add_transform(NamesToLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
