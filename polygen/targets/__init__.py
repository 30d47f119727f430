"""Targets: from a loop program to text.

The rooms, in the order in which they build on each other: `texts` (functions that sources define
for themselves), `languages` (a table for each target), `expressions`, `lanes` (expressions of
vectors), `statements`, `programs`.  A room imports from those before it, never from those after it.
"""
