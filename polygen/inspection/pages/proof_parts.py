"""The parts of a report about order: what is proved, what data has to fulfil, what is parallel."""

from __future__ import annotations

from collections.abc import Iterator

from polygen.analysis.wellformed.all_obligations import obligations
from polygen.analysis.wellformed.check import check_well_formed
from polygen.inspection.order.parallelism import parallel_inames
from polygen.inspection.pages.elements import Html, code, element, joined
from polygen.inspection.pages.parts import Part
from polygen.ir.kernel import Kernel
from polygen.pipeline import lower_kernel


def proofs(kernel: Kernel) -> Iterator[Part]:
    """Yield what is known of a kernel's order and results."""
    yield Part("What is proved", lambda: _proved(kernel), is_open=True)
    if kernel.inames:
        yield Part("Loops that may be parallel", lambda: code(str(parallel_inames(kernel))))
    yield Part("Loops before they become text", lambda: code(str(lower_kernel(kernel))))


def _proved(kernel: Kernel) -> Html:
    check_well_formed(kernel)  # or its error is shown
    found = obligations(kernel)
    said = [
        "Every element that is read was written or passed before, every access is inside of its "
        "array, and whatever touches one element is in an order"
        + (", provided that the data fulfils what follows." if found else ".")
    ]
    content = [element("p", *said)]
    if found:
        content.append(code(*map(str, found)))
        checked = "Calls with check_assumptions=True check that."
        content.append(element("p", checked, class_="note"))
    if kernel.claims:
        content.append(element("p", "Taken on trust, because the user vouches for it:"))
        content.append(code(*map(str, kernel.claims)))
    return joined(content)
