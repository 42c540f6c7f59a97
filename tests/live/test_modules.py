"""The script that keeps pages current, as production serves it."""

import re
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.management import call_command


def test_modules_find_one_another_under_their_hashed_names(tmp_path: Path, settings: Any) -> None:
    settings.STATIC_ROOT = tmp_path
    hashed = {"staticfiles": {"BACKEND": "lib.static_files.HashedStaticFilesStorage"}}
    settings.STORAGES = settings.STORAGES | hashed

    call_command("collectstatic", interactive=False, verbosity=0)

    def imported(name: str) -> list[str]:
        text = (tmp_path / staticfiles_storage.url(name).removeprefix("/static/")).read_text()
        return re.findall(r"(?:from |import\()\"\./(\w+\.[0-9a-f]{12}\.js)\"", text)

    names = {
        name: Path(staticfiles_storage.url(f"console/{name}.js")).name
        for name in ("attention", "fragments", "live", "toast")
    }
    assert imported("console/shell.js") == [names["live"], names["attention"]]
    assert imported("console/live.js") == [names["fragments"], names["toast"]]
    assert imported("console/records.js") == [names["fragments"]]
