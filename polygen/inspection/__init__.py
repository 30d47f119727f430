"""Inspection: numbers and pictures for people.

The rooms, in the order in which they build on each other: `counts`, `order`, `compare`, `devices`,
`plots`, `pages`.  A room imports from those before it, never from those after it.
"""
