"""Files for the eyes of the service alone."""

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Put a file in its place, whole or not at all, that nobody but the owner may read.

    Raises:
        OSError: the folder does not take it.
    """
    part = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
