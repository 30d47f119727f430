"""Transformations of inames: tags, priorities, copies, and which instructions are within them.

None of these changes how often something is executed, but `add_inames_to_insn` and its inverse.
They rest on nothing else here.  Start with `tag_inames`; `tag_arguments` reads tags for all rooms.
"""
