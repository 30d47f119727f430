"""From a kernel to a loop program: what is executed where, and in which order."""
