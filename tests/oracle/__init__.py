"""What a kernel means and what a loop program does, in plain Python: for tests to compare."""
