"""Value-based dataflow: the write that each read sees.

What is asked here: the source of each value that is read, in one permitted execution, and what
follows from that: dependences, live variables, recurrences.  It rests on `pairs`.
Start with `read_sources`; `last_write` and `latest_instances` find most sources without a search.
`comparison_context` and what uses it prepare comparing the values of two kernels.
"""
