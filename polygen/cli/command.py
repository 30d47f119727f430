"""The command `polygen`: its subcommands, and how it ends."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from pkgutil import resolve_name

from polygen.cli.failures import FAILED, told_failure, told_warnings
from polygen.errors import PolygenError

# Only the one that is asked for is loaded.
_COMMANDS = {
    "show": "polygen.cli.show:add_command",
    "check": "polygen.cli.check:add_command",
    "diff": "polygen.cli.diff:add_command",
    "equiv": "polygen.cli.equiv:add_command",
    "optimize": "polygen.cli.optimize:add_command",
    "tune": "polygen.cli.tune:add_command",
    "emit": "polygen.cli.emit:add_command",
    "build": "polygen.cli.build:add_command",
    "cache": "polygen.cli.cache:add_command",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status.

    It is 0 if all went well, 1 if the answer to what was asked is no, and 2 if it could not be
    answered: docs/reference/command_line.md has a table.

    Parameters:
        arguments: those of the command line; the process's own if they are not given.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    chosen = _parser(given[:1]).parse_args(given)
    try:
        with told_warnings():
            status: int = chosen.run(chosen)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has had enough, as in `polygen show ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except KeyboardInterrupt:
        return 130
    except (OSError, PolygenError) as error:
        return told_failure(error, _inputs(chosen))
    except Exception:  # a fault of polygen's own: Python would end with 1, which is an answer
        traceback.print_exc()
        return FAILED
    return status


def _inputs(chosen: argparse.Namespace) -> str:
    """Return the files with kernels that the command was given."""
    given = [getattr(chosen, name, None) for name in ("kernel", "first", "second")]
    return ", ".join("<stdin>" if name == "-" else name for name in given if name) or "polygen"


def _parser(command: Sequence[str]) -> argparse.ArgumentParser:
    """Return a parser that knows a command; all of them, if it is none."""
    parser = argparse.ArgumentParser(
        prog="polygen",
        description="Kernels as text: shown, checked, compared, scheduled. What is kept on disk.",
        epilog="KERNEL is a file with the text of a kernel, as print(kernel) writes it or in the "
        "short form; - is the standard input. docs/reference/command_line.md has examples.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name in [name for name in command if name in _COMMANDS] or _COMMANDS:
        resolve_name(_COMMANDS[name])(commands)
    return parser
