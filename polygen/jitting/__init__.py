"""`polygen.jit`: functions of Python that are compiled when they are called."""
