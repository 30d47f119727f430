"""The text of functions and types that generated sources define for themselves.

Only what a source uses is printed.  These files know nothing of kernels; each has the texts of one
subject, as templates.  Start with `integers.h`; `named_texts` reads them.
"""
