"""HTML to tagged PDF (PDF/UA-1), by WeasyPrint, which uses the system's Pango."""

from pathlib import Path
from typing import Any, Final

from django.conf import settings

BASE_STYLE: Final = Path(settings.BASE_DIR) / "templates" / "pdf.css"  # shared by all documents
_VARIANT: Final = "pdf/ua-1"


class PangoMissing(Exception):
    """The system has no Pango (Debian: libpango-1.0-0, libpangoft2-1.0-0, libharfbuzz-subset0)."""


def write(html: str, *, style: Path) -> bytes:
    """Render an HTML document with the shared styles and its own.  Fetches no URLs: documents must not refer to files.

    Raises:
        PangoMissing: Pango is not installed.
    """
    try:
        # Not at the top: it uses 30 MB, and pages have to work on systems without Pango.
        from weasyprint import CSS, HTML  # noqa: PLC0415  # slow to import, so loaded only where it is used
    except OSError as error:
        raise PangoMissing from error
    document = HTML(string=html, url_fetcher=_nothing)
    styles = [CSS(filename=str(path)) for path in (BASE_STYLE, style)]
    written: bytes = document.write_pdf(stylesheets=styles, pdf_variant=_VARIANT)
    return written


def _nothing(url: str, *_: Any, **__: Any) -> Any:
    raise ValueError("a PDF document refers to no other file")
