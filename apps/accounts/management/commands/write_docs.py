"""Write the pages of docs/ that are generated from the code."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from lib.error_pages import errors_page


class Command(BaseCommand):
    """Write docs/openapi.json, docs/errors.md and docs/figures.md."""

    help = "Write docs/openapi.json, docs/errors.md and docs/figures.md."

    def handle(self, *args: Any, **options: Any) -> None:
        docs = Path(settings.BASE_DIR) / "docs"
        (docs / "errors.md").write_text(errors_page())
        call_command("write_figures")
        document = docs / "openapi.json"
        call_command("spectacular", format="openapi-json", validate=True, fail_on_warn=True, file=str(document))
