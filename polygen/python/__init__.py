"""Functions of Python as kernels, without a decorator: source -> statements -> kernel.

`function_source` reads a function; `tracer` interprets its statements for arguments of certain
types and ranks, and writes `nodes`; `kernel_of_nodes` makes a kernel of them, through
`polygen.Builder`.  Sizes stay symbols: `size_facts` keeps what a trace assumes of them.  `values`
says what names may stand for.  What a kernel cannot have is `refused`, by name.
"""
