"""OpenCL, through PyOpenCL: contexts, programs, queues, and what devices lack.

Start with `opencl_backend`, the row of the table; `opencl_driver` imports PyOpenCL and builds
programs, `opencl_run` enqueues them, `pocl` and `nvidia_opencl` know two platforms.
"""
