"""Translations are compiled at each start, unless they are up to date."""

import os
from pathlib import Path
from typing import Any

import polib
import pytest

from config import translations


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any) -> tuple[Path, Path]:
    """Folders of the texts of one language, and of the compiled files."""
    texts = tmp_path / "locale" / "es" / "LC_MESSAGES" / "django.po"
    texts.parent.mkdir(parents=True)
    _write(texts, "Hola")
    monkeypatch.setattr(translations, "TEXTS", tmp_path / "locale")
    settings.LOCALE_PATHS = [tmp_path / "var" / "locale"]
    return texts, tmp_path / "var" / "locale" / "es" / "LC_MESSAGES" / "django.mo"


def _write(texts: Path, said: str) -> None:
    catalogue = polib.POFile()
    catalogue.append(polib.POEntry(msgid="Hello", msgstr=said))
    catalogue.save(str(texts))


def _said(compiled: Path) -> str:
    return str(polib.mofile(str(compiled))[0].msgstr)


def test_missing_catalogue_is_compiled_and_a_current_one_left(folders: tuple[Path, Path]) -> None:
    _, compiled = folders
    assert [warning.id for warning in translations.are_compiled(None)] == ["carelane.W005"]

    translations.compile_all()

    assert _said(compiled) == "Hola"
    assert translations.are_compiled(None) == []
    assert list(compiled.parent.iterdir()) == [compiled]
    written = compiled.stat().st_ino
    translations.compile_all()
    assert compiled.stat().st_ino == written


@pytest.mark.parametrize("seconds", [-60, 60])
def test_other_texts_are_compiled_be_they_older_or_newer(folders: tuple[Path, Path], seconds: int) -> None:
    """For example after a return to an earlier release."""
    texts, compiled = folders
    translations.compile_all()
    _write(texts, "Buenas")
    os.utime(texts, (compiled.stat().st_mtime + seconds,) * 2)

    translations.compile_all()

    assert _said(compiled) == "Buenas"


def test_folder_that_cannot_be_written_is_left_and_warned_of(folders: tuple[Path, Path]) -> None:
    _, compiled = folders
    compiled.parent.parent.parent.parent.mkdir(parents=True)
    compiled.parent.parent.parent.write_text("a file where the folder should be")

    translations.compile_all()

    (warning,) = translations.are_compiled(None)
    assert "“es”" in warning.msg
