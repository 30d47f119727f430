"""C: the machine's compiler makes a library, and ctypes calls its function.

Start with `c_backend`, the row of the table; `c_compiler` makes the library, `c_function` calls it.
"""
