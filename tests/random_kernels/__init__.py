"""Random kernels over the whole language, and what they must compute."""
