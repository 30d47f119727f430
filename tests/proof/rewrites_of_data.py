"""Steps that exchange instructions of kernels in which data decides, or that add up in stages."""

from __future__ import annotations

from typing import Any

import polygen as pg
from tests.proof.patterns import array
from tests.proof.rewrites import ROW, Rewrite, Text, temporary

A, B, C = array("a", "n"), array("b", "n"), array("c", "n")
A8, B8 = array("a", "8"), array("b", "n")
IDX = array("idx", "n", dtype="int32")
COUNT = array("count", "n", dtype="int32")
T, P = temporary("t"), temporary("p", "8")

# --- a read of what data decides who wrote

WRITE, READ = "a[idx[i]] = b[i] {id=w, dep=*}", "c[i] = a[3] {id=r, dep=*w}"
SCATTER = Text(ROW, f"{WRITE}\n{READ}")
GUARDED = Text(ROW, "b[i] = c[i] + b[i] {id=b, if=c[i] > 0}\na[i] = 2*b[i] {id=a, dep=*b}")


def guarded(load: str = "c[i]", test: str = "t > 0", read: str = "b[i]", dep: str = "*b") -> Text:
    """Return the kernel with the condition's array in a temporary."""
    return Text(
        ROW,
        f"""t = {load} {{id=t, dep=*}}
        b[i] = t + b[i] {{id=b, dep=*t, if={test}}}
        a[i] = 2*{read} {{id=a, dep={dep}}}""",
        (T,),
    )


def overlapping(text: str, *temporaries: Any) -> Text:
    """Return a kernel of arrays that may overlap."""
    return Text(ROW, text, temporaries)


MAY = tuple(pg.GlobalArg(n, "float64", ("n",), may_alias=True) for n in "abc")
NEIGHBOURS = overlapping("b[i] = a[i]*a[i] {id=b, dep=*}\nc[i] = b[i] {id=c, dep=*b}")

OF_DATA = [
    Rewrite(
        "stored after a scatter",
        (A8, B, C, IDX),
        SCATTER,
        Text(ROW, f"{WRITE}\nt = a[3] {{id=t, inames=i, dep=*w}}\nc[i] = t {{id=r, dep=*t}}", (T,)),
    ),
    Rewrite(
        "stored before a scatter",
        (A8, B, C, IDX),
        SCATTER,
        Text(
            ROW,
            """t = a[3] {id=t, inames=i, dep=*}
            a[idx[i]] = b[i] {id=w, dep=*t}
            c[i] = t {id=r, dep=*w}""",
            (T,),
        ),
        "CannotProve",
        "which elements are touched depends on data",
    ),
    Rewrite(
        "stored before a scatter, and loaded in the next iteration",
        (A8, B, C, IDX),
        Text(ROW, f"{READ.replace('dep=*w', 'dep=*')}\n{WRITE.replace('dep=*', 'dep=*r')}"),
        Text(
            ROW,
            """t = a[3] {id=t, inames=i, dep=*}
            c[i] = t {id=r, dep=*t}
            a[idx[i]] = b[i] {id=w, dep=*r}""",
            (T,),
        ),
    ),
    Rewrite(
        "stored once for all iterations of a scatter",
        (A8, B, C, IDX),
        Text(ROW, f"{READ.replace('dep=*w', 'dep=*')}\n{WRITE.replace('dep=*', 'dep=*r')}"),
        Text(
            ROW,
            """t = a[3] {id=t, inames=, dep=*}
            c[i] = t {id=r, dep=*t}
            a[idx[i]] = b[i] {id=w, dep=*r}""",
            (T,),
        ),
        "CannotProve",
        "which elements are touched depends on data",
    ),
    Rewrite(
        "the subscript of a scatter stored",
        (A8, B, C, IDX),
        SCATTER,
        Text(
            ROW,
            f"""k = idx[i] {{id=k, dep=*}}
            {WRITE.replace("idx[i]", "k").replace("dep=*", "dep=*k")}
            {READ}""",
            (pg.TemporaryVariable("k", "int32", ()),),
        ),
    ),
    Rewrite(
        "another subscript of a scatter stored",
        (A8, B, C, IDX),
        SCATTER,
        Text(
            ROW,
            f"""k = 7 - idx[i] {{id=k, dep=*}}
            {WRITE.replace("idx[i]", "k").replace("dep=*", "dep=*k")}
            {READ}""",
            (pg.TemporaryVariable("k", "int32", ()),),
        ),
        "NotTheSame",
        "it would compute",
    ),
    Rewrite(
        "another value than what a scatter left",
        (A8, B, C, IDX),
        SCATTER,
        Text(ROW, f"{WRITE}\nc[i] = 2*b[i] {{id=r, dep=*w}}"),
        "CannotProve",
        "'a': which elements are touched depends on data",
    ),
    Rewrite(
        "what a scatter left, for another value",
        (A8, B, C, IDX),
        Text(ROW, f"{WRITE}\nc[i] = 2*b[i] {{id=r, dep=*w}}"),
        SCATTER,
        "CannotProve",
        "'a': which elements are touched depends on data",
    ),
    # --- conditions that are data
    Rewrite("what a condition reads stored", (A, B, C), GUARDED, guarded()),
    Rewrite(
        "something else in place of what a condition reads",
        (A, B, C),
        GUARDED,
        guarded("c[n - 1 - i]"),
        "NotTheSame",
        "c[n - 1 - i]",
    ),
    Rewrite(
        "another condition",
        (A, B, C),
        GUARDED,
        guarded(test="t > 1"),
        "NotTheSame",
        "instead of",
    ),
    Rewrite(
        "read before the write under a condition",
        (A, B, C),
        GUARDED,
        Text(
            ROW,
            """t = b[i] {id=t, dep=*}
            b[i] = c[i] + b[i] {id=b, dep=*t, if=c[i] > 0}
            a[i] = 2*t {id=a, dep=*b}""",
            (T,),
        ),
        "CannotProve",
        "which elements are touched depends on data",
    ),
    Rewrite(
        "two writes under conditions, exchanged",
        (A, B, C),
        Text(
            ROW,
            """b[i] = 1 {id=b, dep=*, if=c[i] > 0}
            b[i] = 2 {id=d, dep=*b, if=c[i] > -5}
            a[i] = b[i] {id=a, dep=*d}""",
        ),
        Text(
            ROW,
            """b[i] = 2 {id=d, dep=*, if=c[i] > -5}
            b[i] = 1 {id=b, dep=*d, if=c[i] > 0}
            t = b[i] {id=t, dep=*b}
            a[i] = t {id=a, dep=*t}""",
            (T,),
        ),
        "CannotProve",
        "which elements are touched depends on data",
    ),
    # --- arrays that may overlap
    Rewrite(
        "stored where arrays may overlap",
        MAY,
        NEIGHBOURS,
        overlapping(
            "t = a[i] {id=t, dep=*}\nb[i] = t*t {id=b, dep=*t}\nc[i] = b[i] {id=c, dep=*b}", T
        ),
    ),
    # --- chains, and circles
    Rewrite(
        "a value followed through an instruction seven times",
        (A8, B8),
        Text(ROW, "b[i] = a[0] {id=b}"),
        Text(
            (*ROW, "{ [k]: 1<=k<8 }"),
            """p[0] = a[0] {id=z, inames=, dep=*}
            p[k] = p[k-1] {id=p, inames=k, dep=*z}
            b[i] = p[7] {id=b, dep=*p}""",
            (P,),
        ),
    ),
    Rewrite(
        "a value followed through an instruction, another one",
        (A8, B8),
        Text(ROW, "b[i] = a[0] {id=b}"),
        Text(
            (*ROW, "{ [k]: 1<=k<8 }"),
            """p[0] = a[1] {id=z, inames=, dep=*}
            p[k] = p[k-1] {id=p, inames=k, dep=*z}
            b[i] = p[7] {id=b, dep=*p}""",
            (P,),
        ),
        "NotTheSame",
        "a[1]",
    ),
]

# --- sums in stages

ROWS = (array("a", "n", "16"), array("s", "n"))
WHOLE = Text((*ROW, "{ [j]: 0<=j<16 }"), "s[i] = sum(j, a[i,j]) {id=s}")
SQUARES = Text(WHOLE.domains, "s[i] = sum(j, a[i,j]*a[i,j]) {id=s}")
STAGES = (*ROW, "{ [k]: 0<=k<4 }", "{ [kk]: 0<=kk<4 }", "{ [l]: 0<=l<4 }")


def staged(part: str = "sum(l, a[i,4*k+l])", whole: str = "sum(kk, p[kk])", *bounds: str) -> Text:
    """Return the sum in two stages."""
    domains = tuple(bounds or STAGES[1:])
    return Text(
        (*ROW, *domains),
        f"p[k] = {part} {{id=p, inames=i:k, dep=*}}\ns[i] = {whole} {{id=s, dep=*p}}",
        (P,),
    )


def _wrong(name: str, after: Text) -> Rewrite:
    return Rewrite(name, ROWS, WHOLE, after, "NotTheSame", "instead of")


IN_STAGES = [
    Rewrite("a sum in two stages", ROWS, WHOLE, staged()),
    Rewrite("two stages at once", ROWS, staged(), WHOLE),
    Rewrite(
        "a sum of squares in two stages", ROWS, SQUARES, staged("sum(l, a[i,4*k+l]*a[i,4*k+l])")
    ),
    Rewrite("two stages, others", ROWS, WHOLE, staged("sum(l, a[i,k+4*l])")),
    Rewrite("two stages, downward", ROWS, WHOLE, staged("sum(l, a[i,15-4*k-l])")),
    _wrong("two stages, some numbers twice", staged("sum(l, a[i,3*k+l])")),
    _wrong("two stages, of the other operation", staged("max(l, a[i,4*k+l])")),
    _wrong(
        "two stages, the last left out",
        staged("sum(l, a[i,4*k+l])", "sum(kk, p[kk])", STAGES[1], "{ [kk]: 0<=kk<3 }", STAGES[3]),
    ),
    _wrong("two stages, one of them several times", staged(whole="sum(kk, p[0*kk])")),
    _wrong("two stages, the second doubled", staged("2*sum(l, a[i,4*k+l])")),
]

# --- loops whose bounds are data

NUMBERS = tuple(pg.TemporaryVariable(n, "int32", ()) for n in ("m", "m2"))
COUNTED = (array("a", "8"), B, C, COUNT)


def counted(lines: str, *temporaries: Any, bound: str = "m") -> Text:
    """Return a kernel with a loop as long as data says."""
    return Text((*ROW, f"[{bound}] -> {{ [j]: 0<=j<{bound} }}"), lines, temporaries)


TIMES = "m = count[i] {id=m, inames=i, dep=*}"
SUMMED = counted(f"{TIMES}\nc[i] = (2*b[i])*sum(j, a[j]) {{id=c, dep=*m}}", NUMBERS[0])
ADDED = counted(f"{TIMES}\nc[i] = c[i] + (2*b[i])*a[j] {{id=c, dep=*m, inames=i:j}}", NUMBERS[0])


def stored(use: str, times: str = TIMES, more: str = "", bound: str = "m") -> Text:
    """Return the kernel with a factor in a temporary."""
    lines = f"{times}\n{more}\nt = 2*b[i] {{id=t, inames=i, dep=*}}\nc[i] = {use}"
    return counted(lines, *NUMBERS[: 2 if more else 1], T, bound=bound)


def in_loop(line: str) -> Text:
    """Return the kernel with a factor that is stored in each iteration."""
    use = "c[i] = c[i] + t*a[j] {id=c, dep=*m:t, inames=i:j}"
    return counted(f"{TIMES}\n{line}\n{use}", NUMBERS[0], T)


COUNTS = [
    Rewrite(
        "a sum as long as data says",
        COUNTED,
        SUMMED,
        stored("t*sum(j, a[j]) {id=c, dep=*m:t}"),
    ),
    Rewrite(
        "a sum as long as other data says",
        COUNTED,
        SUMMED,
        stored(
            "t*sum(j, a[j]) {id=c, dep=*m2:t}",
            more="m2 = m + 1 {id=m2, inames=i, dep=*m}",
            bound="m2",
        ),
        "CannotProve",
        "how long a reduction is depends on data",
    ),
    Rewrite(
        "a sum as long as data says, and that is changed",
        COUNTED,
        SUMMED,
        stored("t*sum(j, a[j]) {id=c, dep=*m:t}", TIMES.replace("[i]", "[i] + 1")),
        "NotTheSame",
        "instead of count[i]",
    ),
    Rewrite(
        "a loop as long as data says",
        COUNTED,
        ADDED,
        stored("c[i] + t*a[j] {id=c, dep=*m:t, inames=i:j}"),
    ),
    Rewrite(
        "a loop as long as other data says",
        COUNTED,
        ADDED,
        stored(
            "c[i] + t*a[j] {id=c, dep=*m2:t, inames=i:j}",
            more="m2 = m + 1 {id=m2, inames=i, dep=*m}",
            bound="m2",
        ),
        "CannotProve",
        "how often it is executed depends on data",
    ),
    Rewrite(
        "stored in a loop as long as data says",
        COUNTED,
        ADDED,
        in_loop("t = 2*b[i] {id=t, inames=i:j, dep=*m}"),
    ),
    Rewrite(
        "something else stored in a loop as long as data says",
        COUNTED,
        ADDED,
        in_loop("t = 2*b[0*i] {id=t, inames=i:j, dep=*m}"),
        "CannotProve",
        "how often it is executed depends on data",
    ),
    Rewrite(
        "stored in some iterations of a loop as long as data says",
        COUNTED,
        ADDED,
        in_loop("t = 2*b[i] {id=t, inames=i:j, dep=*m, if=j > 0}"),
        "CannotProve",
        "which elements are touched depends on data",
    ),
]
