"""Generated code under tools that watch it run, and tests of the tests."""
