"""Makes programs callable: devices, compilers, caches, arguments.

The rooms, in the order in which they build on each other: `disk` keeps what was compiled; `arrays`
asks arrays, of whichever library, where their elements are; `claims` checks what a kernel takes for
granted of data; `calls` turns arguments into what a function takes; `backends` has a folder for
each of C, OpenCL and CUDA.  The files here put these together: start with `executor`.

A room imports from those before it, never from those after it.
"""
