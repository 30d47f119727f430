"""Files that the command is given, which may not be there."""

from __future__ import annotations

from pathlib import Path

from polygen.errors import UnreadableFile, did_you_mean


def contents(name: str) -> bytes:
    """Return what is in a file.

    Parameters:
        name: its path, as the user wrote it.

    Raises:
        UnreadableFile: if it is not there, is no file, or may not be read.
    """
    path = Path(name)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise UnreadableFile(f"there is no folder '{path.parent}'", where=name) from None
        known = [str(p.relative_to(path.parent)) for p in path.parent.iterdir() if p.is_file()]
        raise UnreadableFile(
            "there is no such file", where=name, remedy=did_you_mean(path.name, known)
        ) from None
    except OSError as error:
        raise UnreadableFile(
            f"this cannot be read: {error.strerror or error}", where=name
        ) from error
