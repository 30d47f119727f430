"""The parts of a kernel.

Start with `kernel`; then what it holds: `domain`, `instruction`, `expression` (which `walk` takes
apart), `array` with `dtype` and `layout`, `tags`.  Tables of facts stand here, too: `reduction` has
a row for each operation of reductions, `dtype` for each element type, `target_facts` for each
target.  The files `verify_*` check that parts fit together, `show_*` print them.

Nothing here knows of text to parse or of devices, and of targets more than names and a few facts.
"""
