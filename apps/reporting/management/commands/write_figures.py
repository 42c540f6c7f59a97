"""Write the page of docs/ that says how figures are counted."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from apps.reporting.figures_page import figures_page


class Command(BaseCommand):
    """Write docs/figures.md."""

    help = "Write docs/figures.md; a part of write_docs."

    def handle(self, *args: Any, **options: Any) -> None:
        (Path(settings.BASE_DIR) / "docs" / "figures.md").write_text(figures_page())
