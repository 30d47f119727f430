"""HTML of kernels and programs for notebooks: `_repr_html_`."""

from __future__ import annotations

from polygen.analysis.integers.proving import without_proofs
from polygen.inspection.pages.elements import Html, element, folded, joined
from polygen.inspection.pages.parts import Budget, headline, parts, shown, warnings_noted
from polygen.inspection.pages.style import STYLE
from polygen.ir.kernel import Kernel
from polygen.language.programs import TranslationUnit

_SECONDS = 0.3  # after that, no further part is begun: whoever runs a cell waits for it


def in_notebook(whole: Kernel | TranslationUnit) -> str:
    """Return a kernel, or the kernels of a program, as HTML that folds.

    Nothing in it has an id, so that any number of them can stand in one notebook.
    """
    budget = Budget(_SECONDS)
    kernels = [whole] if isinstance(whole, Kernel) else list(reversed(whole.kernels))
    # Nothing is run here: generated source is compared with its kernel when it is.
    with warnings_noted() as noted, without_proofs():
        found = [_kernel(kernel, budget, is_open=len(kernels) == 1) for kernel in kernels]
    head: list[Html] = [element("p", text, class_="note") for text in noted]
    if isinstance(whole, TranslationUnit):
        head.append(element("p", f"Entry points: {', '.join(sorted(whole.entrypoints))}"))
    # The style is no text to escape: it holds nothing of the user's.
    style = Html(f"<style>{STYLE}</style>")
    return element("div", style, *head, *found, class_="polygen")


def _kernel(kernel: Kernel, budget: Budget, *, is_open: bool) -> Html:
    # No headings: notebooks list those among the reader's own.
    title = element("strong", f"Kernel {kernel.name}")
    summary = joined((title, element("span", f" {headline(kernel)}", class_="count")))
    body = [shown(part, budget, "strong") for part in parts(kernel)]
    return folded(summary, *body, is_open=is_open, class_="kernel")
