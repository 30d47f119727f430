"""Whole programs: declarations, launches, memory, and the source that is put together of them.

It rests on all rooms before it.  Start with `printer`; `program` is what comes out.
"""
