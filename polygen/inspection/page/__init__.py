"""Kernels as HTML: what notebooks show, and what `polygen.report` writes."""
