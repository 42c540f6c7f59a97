"""The folder of export files, which only the service can read and which all of its processes share."""

import shutil
import time
from pathlib import Path
from typing import Final
from uuid import UUID

from django.conf import settings

from apps.exports.models import Export

STREAMING_PREFIX: Final = ".sending-"  # of the working folders of immediate exports
_STREAMING_SECONDS: Final = 3_600  # an older working folder is left from a crash


def folder() -> Path:
    """Return the folder, which is created if it is missing.

    Raises:
        OSError: it cannot be created.
    """
    path = Path(settings.EXPORTS_DIR)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def file_path(export: Export) -> Path:
    """Return the path of the complete file of an export."""
    return folder() / f"{export.pk}.{export.format}"


def create_working_folder(export: Export) -> Path:
    """Create the folder in which the worker with the current claim writes the file."""
    path = folder() / f".{export.pk}.{export.claim_id}"
    path.mkdir(mode=0o700)
    return path


def remove(export: Export) -> None:
    """Delete the file of an export, if there is one."""
    file_path(export).unlink(missing_ok=True)


def delete_leftovers() -> int:
    """Delete files of crashed workers and of exports that have ended; return the number of files and folders.

    Working folders of current claims stay: the claim is part of the name.
    """
    count = 0
    paths = list(folder().iterdir())  # before the claims, so that later folders are not deleted
    running = Export.objects.filter(state=Export.State.RUNNING).values_list("pk", "claim_id")
    working_folders = {f".{pk}.{claim}" for pk, claim in running}
    for path in paths:
        if path.is_dir() and not _is_in_use(path, working_folders):
            shutil.rmtree(path, ignore_errors=True)
            count += 1
        elif path.is_file() and not _is_needed(path):
            path.unlink(missing_ok=True)
            count += 1
    return count


def _is_in_use(path: Path, working_folders: set[str]) -> bool:
    if path.name.startswith(STREAMING_PREFIX):
        return path.stat().st_mtime > time.time() - _STREAMING_SECONDS
    return path.name in working_folders


def _is_needed(path: Path) -> bool:
    try:
        export_id = UUID(path.stem)
    except ValueError:
        return True  # not a file of an export
    return Export.objects.filter(pk=export_id, state__in=[Export.State.RUNNING, Export.State.READY]).exists()
