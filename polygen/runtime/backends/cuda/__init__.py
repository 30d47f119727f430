"""CUDA, through cuda-python or CuPy: modules, streams, graphs, and memory of a GPU.

Start with `cuda_backend`, the row of the table; `cuda_driver` says what is asked of CUDA, which
`cuda_python` and `cuda_cupy` answer, and `cuda_run` launches.
"""
