"""Files that only the service's user can read."""

import os
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Write a file atomically, readable only by its owner.

    Raises:
        OSError: the folder is not writable.
    """
    part = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
