"""More programs, and others that compute the same by other instructions, or do not."""

from __future__ import annotations

from typing import Any

import polygen as pg
from tests.proof.patterns import array
from tests.proof.rewrites import IJ, ROW, ROWS, Rewrite, Text, temporary

A, B, C = array("a", "n"), array("b", "n"), array("c", "n")


def chain(length: int, last: str = "t{}") -> Text:
    """Return a copy of an array through temporaries, one after the other."""
    lines = ["t0 = a[i] {id=t0}"]
    lines += [f"t{k} = t{k - 1} {{id=t{k}, dep=t{k - 1}}}" for k in range(1, length)]
    lines.append(f"b[i] = {last.format(length - 1)} {{id=b, dep=t{length - 1}}}")
    return Text(ROW, "\n".join(lines), tuple(temporary(f"t{k}") for k in range(length)))


COPY = Text(ROW, "b[i] = a[i] {id=b}")
SUM = Text(IJ, "s[i] = sum(j, a[i,j]) {id=s}")
NESTED = Text(
    (*IJ, "{ [k]: 0<=k<m }"),
    "s[i] = sum(j, sum(k, a[i,j]*b[i,k])) {id=s}",
)


def stored(line: str, *domains: str, text: str = "t = 2*a[i,0] {id=t, inames=i}") -> Text:
    """Return a kernel in which a temporary is stored first."""
    return Text((*IJ, *domains), f"{text}\n{line}", (temporary("t"),))


def overlapping(*names: str) -> tuple[Any, ...]:
    """Return arrays that may overlap."""
    return tuple(pg.GlobalArg(n, "float64", ("n",), may_alias=True) for n in names)


ROWS_1 = (array("a", "n", "8"), array("b", "n", "m+2"), array("s", "n"))
FACTOR = Text(IJ, "s[i] = (2*a[i,0])*sum(j, b[i,j]) {id=s}")

MORE = [
    # --- how far values are followed
    Rewrite("thirty copies", (A, B), COPY, chain(30)),
    Rewrite("thirty copies less", (A, B), chain(30), COPY),
    Rewrite(
        "nine copies, one doubled", (A, B), COPY, chain(9, "2*t{}"), "NotTheSame", "instead of"
    ),
    Rewrite("copies, one doubled", (A, B), COPY, chain(3, "2*t{}"), "NotTheSame", "instead of"),
    # --- reductions whose inames have other names
    Rewrite(
        "another iname",
        ROWS_1,
        FACTOR,
        stored("s[i] = t*sum(k, b[i,k]) {id=s, dep=t}", "{ [k]: 0<=k<m }"),
    ),
    Rewrite(
        "another iname, another range",
        ROWS_1,
        FACTOR,
        stored("s[i] = t*sum(k, b[i,k]) {id=s, dep=t}", "{ [k]: 0<=k<=m }"),
        "NotTheSame",
        "instead of sum(j, b[i, j])",
    ),
    Rewrite(
        "another iname, another place",
        ROWS_1,
        FACTOR,
        stored("s[i] = t*sum(k, b[i,k+1]) {id=s, dep=t}", "{ [k]: 0<=k<m }"),
        "NotTheSame",
        "instead of b[i, j]",
    ),
    Rewrite(
        "another operation",
        ROWS_1,
        FACTOR,
        stored("s[i] = t*max(j, b[i,j]) {id=s, dep=t}"),
        "NotTheSame",
        "instead of sum(j, b[i, j])",
    ),
    Rewrite(
        "two sums as one",
        (array("a", "n", "m"), array("b", "n", "m"), array("s", "n")),
        Text(NESTED.domains, f"{NESTED.lines}"),
        Text(
            NESTED.domains,
            "t = 1.0 {id=t, inames=i}\ns[i] = sum((j, k), a[i,j]*b[i,k])*1.0 {id=s}",
            (temporary("t"),),
        ),
        "NotTheSame",
        "instead of",
    ),
    Rewrite(
        "sums inside of each other, and a value stored",
        ROWS,
        Text(NESTED.domains, "s[i] = (3*a[i,0])*sum(j, sum(k, a[i,j]*b[i,k])) {id=s, if=m > 0}"),
        Text(
            NESTED.domains,
            """t = 3*a[i,0] {id=t, inames=i, if=m > 0}
            s[i] = t*sum((j, k), a[i,j]*b[i,k]) {id=s, dep=t, if=m > 0}""",
            (temporary("t"),),
        ),
    ),
    Rewrite(
        "sums inside of each other, exchanged",
        ROWS,
        Text(NESTED.domains, "s[i] = (3*a[i,0])*sum(j, sum(k, a[i,j]*b[i,k])) {id=s, if=m > 0}"),
        Text(
            NESTED.domains,
            """t = 3*a[i,0] {id=t, inames=i, if=m > 0}
            s[i] = t*sum((j, k), a[i,k]*b[i,k] + 0*j) {id=s, dep=t, if=m > 0}""",
            (temporary("t"),),
        ),
        "NotTheSame",
        "instead of a[i, j]",
    ),
    Rewrite(
        "a number of values that differs",
        ROWS,
        SUM,
        Text(
            (*IJ, "{ [k]: 0<=k<2 }"),
            "t = 0.5 {id=t, inames=i}\ns[i] = t*sum(j, a[i,j]*sum(k, 1)) {id=s, dep=t}",
            (temporary("t"),),
        ),
        "NotTheSame",
        "instead of sum(j, a[i, j])",
    ),
    # --- arrays that may overlap: what is stored between may be another value
    Rewrite(
        "stored between",
        overlapping("a", "b", "c"),
        Text(ROW, "b[i] = 1 {id=b}\nc[i] = a[i] {id=c, dep=b}"),
        Text(
            ROW,
            "t = a[i] {id=t}\nb[i] = 1 {id=b, dep=t}\nc[i] = t {id=c, dep=b:t}",
            (temporary("t"),),
        ),
        "CannotProve",
        "which elements are touched depends on data",
    ),
    Rewrite(
        "stored between, of arrays that are apart",
        (A, B, C),
        Text(ROW, "b[i] = 1 {id=b}\nc[i] = a[i] {id=c, dep=b}"),
        Text(
            ROW,
            "t = a[i] {id=t}\nb[i] = 1 {id=b, dep=t}\nc[i] = t {id=c, dep=b:t}",
            (temporary("t"),),
        ),
    ),
    # --- conditions
    Rewrite(
        "one condition more, which always holds",
        (A, B),
        Text(ROW, "b[i] = a[i] {id=b}"),
        Text(ROW, "t = a[i] {id=t}\nb[i] = t {id=b, dep=t, if=i >= 0}", (temporary("t"),)),
    ),
    Rewrite(
        "a choice that is no other",
        (A, B, C),
        Text(ROW, "b[i] = if(i > 2, 2*a[i], c[i]) {id=b}"),
        Text(
            ROW,
            "t = 2*a[i] {id=t}\nb[i] = if(i > 2, t, c[i]) {id=b, dep=t}",
            (temporary("t"),),
        ),
    ),
    Rewrite(
        "a choice, the values exchanged",
        (A, B, C),
        Text(ROW, "b[i] = if(i > 2, 2*a[i], c[i]) {id=b}"),
        Text(
            ROW,
            "t = 2*a[i] {id=t}\nb[i] = if(i > 2, c[i], t) {id=b, dep=t}",
            (temporary("t"),),
        ),
        "NotTheSame",
        "it would compute c[i]",
    ),
    Rewrite(
        "a choice by another condition",
        (A, B, C),
        Text(ROW, "b[i] = if(i > 2, 2*a[i], c[i]) {id=b}"),
        Text(
            ROW,
            "t = 2*a[i] {id=t}\nb[i] = if(i > 3, t, c[i]) {id=b, dep=t}",
            (temporary("t"),),
        ),
        "NotTheSame",
        "it would compute 3 instead of 2",
    ),
    # --- operations
    Rewrite(
        "another order of factors",
        (A, B, C),
        Text(ROW, "b[i] = 2*a[i]*c[i] {id=b}"),
        Text(ROW, "t = 2*a[i] {id=t}\nb[i] = c[i]*t {id=b, dep=t}", (temporary("t"),)),
        "NotTheSame",
        "instead of",
    ),
    Rewrite(
        "another function",
        (A, B),
        Text(ROW, "b[i] = fabs(2*a[i]) {id=b}"),
        Text(ROW, "t = 2*a[i] {id=t}\nb[i] = floor(t) {id=b, dep=t}", (temporary("t"),)),
        "NotTheSame",
        "floor(t) instead of fabs(2*a[i])",
    ),
    Rewrite(
        "another array of the same values",
        (A, B, C),
        Text(ROW, "b[i] = 2*a[i] {id=b}\nc[i] = b[i] {id=c, dep=b}"),
        Text(
            ROW,
            "t = 2*a[i] {id=t}\nb[i] = t {id=b, dep=t}\nc[i] = t {id=c, dep=t}",
            (temporary("t"),),
        ),
    ),
]
