"""Targets: from a loop program to text."""
