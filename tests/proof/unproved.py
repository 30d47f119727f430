"""Random steps that are refused although nothing shows them to be harmful, and why.

    python -m tests.proof.unproved 0 600

prints what there is for some seeds of `tests.proof.precision`, the kernels and errors included.
"""

from __future__ import annotations

import sys

from tests.proof.precision import HARMLESS, look_at

REASONS = {
    "copies": "a temporary has a copy for each value of an axis of the hardware, and an "
    "instruction that reads it lacks the axis: which of them it reads is not looked into",
    "nest": "the kernel before the step leaves open which of two loops is outside, where that "
    "matters: a step whose values have to be looked at needs a result that is well formed",
    "unneeded": "a value that is overwritten before it reaches an argument is compared as well",
    "alike": "instances that come in another order do the very same, such as adding one number: "
    "values are not computed",
    "type": "a number without a type of its own is stored in a variable: it may be another number "
    "in the expression that takes the variable's place",
}

# The seed and number of each step: how it begins, and the reason.
UNPROVED: dict[tuple[int, int], tuple[str, str]] = {
    (40, 3): ("add_prefetch('a', ['r1']", "copies"),
    (159, 2): ("add_prefetch('c', []", "nest"),
    (237, 2): ("add_prefetch('b', ['ii']", "nest"),
    (259, 1): ("map_domain(\"{ [p] -> [p'] : p' = 0 - p }\")", "alike"),
    (264, 0): ("map_domain(\"{ [j] -> [j'] : j' = n - j }\")", "unneeded"),
    (264, 1): ("duplicate_inames(['i', 'j'], ['last_t', 's0'])", "unneeded"),
    (537, 3): ("assignment_to_subst('v')", "type"),
    (579, 2): ("add_prefetch('b', ['j', 'i_outer']", "nest"),
}


def main(first: int, last: int) -> None:
    """Print the steps of some seeds that are refused and harmless."""
    for seed in range(first, last):
        for each in look_at(seed):
            if each.verdict == HARMLESS:
                what = f"{each.place}: {each.step}\n{type(each.error).__name__}: {each.error}"
                sys.stdout.write(f"{what}\n{each.kernel}\n\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
