"""Ranges of loops in random kernels, of both kinds of them."""

from __future__ import annotations

# Of outermost loops,
FIRST = (
    "0<={x}<n",
    "0<={x}<n",
    "-2<={x}<n-2",
    "1<={x}<m+2",
    "0<={x}<n and {x} mod 2 = 1",
    "({x}=0 or n<={x}<n+3)",
    "0<={x}<6",
)
# and of those within a loop over y.
NEXT = (
    "0<={x}<m",
    "0<={x}<={y}",
    "{y}<={x}<n+1",
    "{y}-1<={x}<={y}+1",
    "0<={x}<4",
    "0<={x} and 2*{x}<={y}+3",
    "0<={x}<3-{y}",
    "0<={x}<m and ({x}+{y}) mod 2 = 0",
    "{x}={y}+1",
    "0<={x}<=2*{y} and {x}<m",
)
