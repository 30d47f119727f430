"""Tests of what is proved of steps."""
