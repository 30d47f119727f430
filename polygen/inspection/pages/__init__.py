"""Kernels as pages, graphs and scripts: reports, notebooks, DOT, SVG, Python.

It rests on all rooms before it.  Start with `report`, which lists the parts of a page; `elements`
writes HTML in which no text of the user's can become a part of it.
"""
