"""The command `polygen`: a module for each of its subcommands."""

from polygen.cli.command import main

__all__ = ["main"]
