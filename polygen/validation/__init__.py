"""Whether a loop program is the kernel that it was made of."""
