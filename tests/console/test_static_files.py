"""Static files as in production: with their hash in the name, and every reference resolved."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command
from django.test import override_settings


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("static")
    hashed = {"staticfiles": {"BACKEND": "lib.static_files.HashedStaticFilesStorage"}}
    # Compressed copies take a minute and are not tested.
    plain = ("css", "js", "json", "map", "svg", "html", "txt")
    with override_settings(
        STATIC_ROOT=root, STORAGES=settings.STORAGES | hashed, WHITENOISE_SKIP_COMPRESS_EXTENSIONS=plain
    ):
        call_command("collectstatic", interactive=False, verbosity=0)
        yield root


def served(name: str) -> str:
    """Return the path of a file, with its hash, below the folder."""
    return staticfiles_storage.url(name).removeprefix("/static/")


def test_every_file_a_style_sheet_names_is_there(folder: Path) -> None:
    names = [served(name) for name in ("console/tokens.css", "vendor/lucide/sprite.svg")]

    assert [Path(name).name.count(".") for name in names] == [2, 2]
    assert all((folder / name).is_file() for name in names)


def test_modules_import_each_other_by_hashed_names(folder: Path) -> None:
    def imported(name: str) -> list[str]:
        return re.findall(r"(?:from |import\()\"\./(\w+\.[0-9a-f]{12}\.js)\"", (folder / served(name)).read_text())

    names = {name: Path(served(f"console/{name}.js")).name for name in ("attention", "fragments", "live", "toast")}
    assert imported("console/shell.js") == [names["live"], names["attention"]]
    assert imported("console/live.js") == [names["fragments"], names["toast"]]
    assert imported("console/records.js") == [names["fragments"]]
