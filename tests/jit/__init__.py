"""Python functions that become kernels."""
