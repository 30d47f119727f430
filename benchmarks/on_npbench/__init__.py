"""NPBench's kernels under polygen and its peers; `benchmarks/npbench.py` is where this starts."""
