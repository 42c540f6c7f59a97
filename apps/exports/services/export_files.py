"""Where files of exports lie: one folder, for the eyes of the service alone, that all of its processes share."""

import shutil
import time
from pathlib import Path
from typing import Final
from uuid import UUID

from django.conf import settings

from apps.exports.models import Export

SENDING: Final = ".sending-"  # begins the names of scratch folders of what is sent at once
_SENDING_SECONDS: Final = 3_600


def folder() -> Path:
    """Give the folder, made where it is missing.

    Raises:
        OSError: it cannot be made.
    """
    place = Path(settings.EXPORTS_DIR)
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def place_of(export: Export) -> Path:
    """Say where the whole file of an export is."""
    return folder() / f"{export.pk}.{export.format}"


def workshop(export: Export) -> Path:
    """Make the folder in which the worker that holds an export writes it; nobody else looks there."""
    place = folder() / f".{export.pk}.{export.claim_id}"
    place.mkdir(mode=0o700)
    return place


def remove(export: Export) -> None:
    """Take the file of an export away, if there is one."""
    place_of(export).unlink(missing_ok=True)


def sweep() -> int:
    """Take away what crashed workers, and exports that are over, left behind; say how many files that was.

    What is being made is left alone: its claim stands in its name.
    """
    swept = 0
    found = list(folder().iterdir())  # before the claims: what came after it is nobody's business here
    running = Export.objects.filter(state=Export.State.RUNNING).values_list("pk", "claim_id")
    held = {f".{pk}.{claim}" for pk, claim in running}
    for path in found:
        if path.is_dir() and not _is_in_use(path, held):
            shutil.rmtree(path, ignore_errors=True)
            swept += 1
        elif path.is_file() and not _is_wanted(path):
            path.unlink(missing_ok=True)
            swept += 1
    return swept


def _is_in_use(scratch: Path, held: set[str]) -> bool:
    """Whether somebody writes in a folder: its claim stands, or it is of an export that is sent at once."""
    if scratch.name.startswith(SENDING):
        return scratch.stat().st_mtime > time.time() - _SENDING_SECONDS
    return scratch.name in held


def _is_wanted(path: Path) -> bool:
    """Whether a file is that of an export that is ready, or about to be."""
    try:
        export_id = UUID(path.stem)
    except ValueError:
        return True  # none of ours
    return Export.objects.filter(pk=export_id, state__in=[Export.State.RUNNING, Export.State.READY]).exists()
