"""The parts of a kernel.

Nothing here knows of text to parse or of devices, and of targets more than names and a few facts.
"""
