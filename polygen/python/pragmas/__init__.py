"""Pragmas: comments that say how loops and array statements are meant to run.

    #pragma parallel for simd reduction(+: s)
    for i in range(n): ...

`pragma_text` reads one comment into the data of `pragma_data`, with the position of each part;
`pragma_places` finds the comments of a function, and the statement that each is about.  What is
claimed is not looked at here.
"""
