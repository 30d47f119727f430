"""Random steps that are refused although nothing shows them to be harmful, and why.

    python -m tests.proof.unproved 0 600

prints what there is for some seeds of `tests.proof.precision`, the kernels and errors included, and
`python -m tests.proof.wide 0 350` the same of kernels over the whole language.
"""

from __future__ import annotations

import sys

from tests.proof.precision import HARMLESS, look_at

REASONS = {
    "copies": "a temporary has a copy for each value of an axis of the hardware, and an "
    "instruction that reads it lacks the axis: which of them it reads is not looked into",
    "alike": "instances that come in another order do the very same, such as adding one number: "
    "values are not computed",
    "type": "a number is stored in a variable of another type: it may be another number in the "
    "expression that takes the variable's place, though none that was tried is",
    "verbatim": "verbatim C is said to read all of an array that it reads one element of",
    "moved": "instances owed before that they touch no element in common: as they are in other "
    "loops now, that is not seen to be what they owed",
    "data": "data decides whether there is an access that would be too late, and it is in hardly "
    "any data: the interpreter did not meet it",
}

# The seed and number of each step: how it begins, and the reason.
UNPROVED: dict[tuple[int, int], tuple[str, str]] = {
    (40, 3): ("add_prefetch('a', ['r1']", "copies"),
    (259, 1): ("map_domain(\"{ [p] -> [p'] : p' = 0 - p }\")", "alike"),
    (537, 3): ("assignment_to_subst('v')", "type"),
}

# The same of the kernels of `tests.proof.wide`.
UNPROVED_WIDE: dict[tuple[int, int], tuple[str, str]] = {
    (17, 0): ("duplicate_inames(['i'], ['s1', 's5'])", "verbatim"),
    (18, 4): ("map_domain(\"{ [j] -> [j'] : j' = n - j }\")", "alike"),
    (36, 4): ("map_domain(\"{ [u8, i] -> [u8', i'] : u8' = -u8 and i' = -i }\")", "verbatim"),
    (39, 3): ("assignment_to_subst('t5')", "type"),
    (80, 2): ("split_iname('i_outer', 2,", "data"),
    (114, 3): ("duplicate_inames(['r9', 'j'], ['s2', 's8'])", "data"),
    (121, 2): ("assignment_to_subst('t5')", "type"),
    (157, 2): ("assignment_to_subst('t7')", "type"),
    (169, 2): ("map_domain(\"{ [p] -> [p'] : p' = n - p }\")", "verbatim"),
    (169, 3): ("tag_inames({'p': 'g.0', 'i': 'l.0', 'r10': 'l.1'}", "verbatim"),
    (195, 0): ("map_domain(\"{ [i] -> [i'] : i' = 3 - i }\")", "alike"),
    (196, 0): ("assignment_to_subst('t13')", "type"),
    (206, 2): ("tag_inames({'i': 'g.1'})", "verbatim"),
    (206, 3): ("split_iname('i', 4, outer_tag='g.0'", "verbatim"),
    (234, 2): ("map_domain(\"{ [k, jo] -> [jo', k'] : k' = jo and jo' = k }\")", "moved"),
    (264, 0): ("map_domain(\"{ [p] -> [p'] : p' = m - p }\")", "verbatim"),
    (309, 1): ("tag_inames({'i': 'l.0'})", "verbatim"),
    (325, 0): ("duplicate_inames(['i', 'j', 'k'], ['s1', 's4'])", "verbatim"),
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
