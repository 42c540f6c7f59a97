"""Translations of the console: texts in locale/, compiled to var/ for gettext.

Compiled files are not in the repository: each start compiles those that are missing or outdated.  With RIDE_TERM=trip,
English has a catalog, too (config/ride_term.py).
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polib
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage
from django.core.checks import Warning as Caution

from config import ride_term

_Made = Callable[[polib.POFile], polib.POFile]
TEXTS = Path(__file__).resolve().parent.parent / "locale"


def compile_all() -> None:
    """Compile the catalogs whose texts have changed.  If the folder is not writable, existing files stay."""
    for texts, compiled, made in _catalogs():
        if not _is_current(texts, compiled):
            try:
                _compile(texts, compiled, made)
            except OSError:  # a read-only file system, or a folder of another user: the check below reports it
                continue


def are_compiled(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn of translations that are not compiled, because no user with write access to var/ has started the service.

    Pages in these languages are shown in English.
    """
    languages = [compiled.parts[-3] for texts, compiled, _made in _catalogs() if not _is_current(texts, compiled)]
    hint = "Run a command of manage.py, such as collectstatic, as a user who may write to VAR_DIR."
    return [
        Caution(f"The texts in “{language}” are not compiled.", hint=hint, id="carelane.W005") for language in languages
    ]


def _catalogs() -> list[tuple[Path, Path, _Made]]:
    """Return the texts of each compiled catalog, its path, and the function that makes it of the texts."""
    folder = Path(settings.LOCALE_PATHS[0])
    found = sorted(TEXTS.glob("*/LC_MESSAGES/django.po"))
    catalogs: list[tuple[Path, Path, _Made]] = [
        (texts, folder / texts.relative_to(TEXTS).with_suffix(".mo"), _unchanged) for texts in found
    ]
    if settings.RIDE_TERM == "trip":
        catalogs.append((found[0], folder / "en" / "LC_MESSAGES" / "django.mo", ride_term.catalog))
    return catalogs


def _unchanged(texts: polib.POFile) -> polib.POFile:
    return texts


def _is_current(texts: Path, compiled: Path) -> bool:
    # Equal times, not later ones: the texts of another release may be older than the compiled file.
    return compiled.is_file() and int(compiled.stat().st_mtime) == int(texts.stat().st_mtime)


def _compile(texts: Path, compiled: Path, made: _Made) -> None:
    compiled.parent.mkdir(parents=True, exist_ok=True)
    written = compiled.with_name(f"{compiled.name}.{os.getpid()}")  # other processes may start at the same time
    made(polib.pofile(str(texts))).save_as_mofile(str(written))
    os.utime(written, (texts.stat().st_mtime, texts.stat().st_mtime))
    written.replace(compiled)
