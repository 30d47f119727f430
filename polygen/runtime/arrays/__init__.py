"""Arrays of whichever library: where elements lie, how large they are, and new ones.

What is asked here: what a call needs to know of the arrays that it is passed, which sizes follow
from their shapes, and what it has to allocate.  It knows no target.  Start with `array_library`, a
row of whose table answers for a library's arrays; `inferred_sizes` and `output_allocation` fill in
what a call leaves out.
"""
