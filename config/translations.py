"""Translations of the console: texts in locale/, compiled to var/ for gettext.

Compiled files are not in the repository: each start compiles those that are missing or outdated.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polib
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage
from django.core.checks import Warning as Caution

TEXTS = Path(__file__).resolve().parent.parent / "locale"


def compile_all() -> None:
    """Compile the catalogs whose texts have changed.  If the folder is not writable, existing files stay."""
    for texts, compiled in _pairs():
        if not _is_current(texts, compiled):
            try:
                _compile(texts, compiled)
            except OSError:  # a read-only file system, or a folder of another user: the check below reports it
                continue


def are_compiled(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Warn of translations that are not compiled, because no user with write access to var/ has started the service.

    Pages in these languages are shown in English.
    """
    languages = [texts.parts[-3] for texts, compiled in _pairs() if not _is_current(texts, compiled)]
    hint = "Run a command of manage.py, such as collectstatic, as a user who may write to VAR_DIR."
    return [
        Caution(f"The texts in “{language}” are not compiled.", hint=hint, id="carelane.W005") for language in languages
    ]


def _pairs() -> list[tuple[Path, Path]]:
    folder = Path(settings.LOCALE_PATHS[0])
    catalogs = sorted(TEXTS.glob("*/LC_MESSAGES/django.po"))
    return [(texts, folder / texts.relative_to(TEXTS).with_suffix(".mo")) for texts in catalogs]


def _is_current(texts: Path, compiled: Path) -> bool:
    # Equal times, not later ones: the texts of another release may be older than the compiled file.
    return compiled.is_file() and int(compiled.stat().st_mtime) == int(texts.stat().st_mtime)


def _compile(texts: Path, compiled: Path) -> None:
    compiled.parent.mkdir(parents=True, exist_ok=True)
    written = compiled.with_name(f"{compiled.name}.{os.getpid()}")  # other processes may start at the same time
    polib.pofile(str(texts)).save_as_mofile(str(written))
    os.utime(written, (texts.stat().st_mtime, texts.stat().st_mtime))
    written.replace(compiled)
