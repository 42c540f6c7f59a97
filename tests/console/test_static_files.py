"""Files as production serves them: with their hash in the name, and every reference followed."""

from pathlib import Path
from typing import Any

from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command


def test_every_file_a_style_sheet_names_is_there(tmp_path: Path, settings: Any) -> None:
    settings.STATIC_ROOT = tmp_path
    settings.STORAGES = settings.STORAGES | {"staticfiles": {"BACKEND": "lib.static_files.HashedStaticFilesStorage"}}

    call_command("collectstatic", interactive=False, verbosity=0)

    names = [staticfiles_storage.url(name) for name in ("console/tokens.css", "vendor/lucide/sprite.svg")]
    assert [Path(name).name.count(".") for name in names] == [2, 2]
    assert all((tmp_path / name.removeprefix("/static/")).is_file() for name in names)
