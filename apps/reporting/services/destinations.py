"""Putting files of exports where they are wanted."""

from pathlib import Path

from apps.reporting.models import ExportDestination
from apps.reporting.models.destinations import PutCode


class PutRefused(Exception):  # as refusals are named
    """The file is not there, not even half of it; `retryable`: the same may work later without anybody's doing."""

    def __init__(self, code: PutCode, *, retryable: bool) -> None:
        super().__init__(code.value)
        self.code, self.retryable = code, retryable


def put(destination: ExportDestination, path: Path, name: str) -> None:
    """Put a file into the folder of a destination under `name`, whole or not at all, in place of one of that name.

    Takes as long as the file is large; holds no transaction.  `name` is letters, digits, `.`, `_` and `-`.

    Raises:
        PutRefused: it did not work; what came of it stands in the destination.
        FileNotFoundError: there is no file at `path`.
        ValueError: `name` is none.
    """
    raise NotImplementedError
