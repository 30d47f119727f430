"""From text to kernels, and back from a kernel's text."""
