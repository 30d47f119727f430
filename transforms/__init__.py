"""The library of transformations: one public transformation a file, by what it changes.

The rooms, in the order in which they build on each other: `inames`, `rules`, `loops`, `splitting`,
`arrays`, `fusion`, `instructions`, `copies`, `atomics`, `reductions`, `parallel_reductions`,
`kernels`, `derivatives`.  A room imports from those before it, never from those after it.  A file
is called like its transformation, which `polygen` offers under that name; other files are helpers,
with an underscore where only their room uses them.
"""

if not __name__.startswith("polygen."):
    raise ImportError(
        "this folder is the package polygen.transforms: import it under that name, "
        "or there are two copies of everything in it"
    )
