"""The generated code of many kernels, as it was: a change of structure shows if it changes code.

The kernels are all of the examples', those of `benchmarks/reductions.py`, and random ones; each is
generated for C, OpenCL and CUDA.  `hashes.tsv` has a hash of each text, or the class of the error
that refuses it.

    python -m tests.replay                      # compare everything, in two processes
    python -m tests.replay --only saxpy         # the cases whose names match this expression
    python -m tests.replay --write FOLDER       # write the texts, a file for each, and no more
    POLYGEN_UPDATE_GOLDEN=1 python -m tests.replay  # hash anew

To see what a change did to a text, write the folder before and after it, and compare the two:

    git stash; python -m tests.replay --only saxpy --write /tmp/before; git stash pop
    python -m tests.replay --only saxpy --write /tmp/after; diff -r /tmp/before /tmp/after

Nothing is compiled or run, so that no compiler and no device is needed, and none has a say.
"""
