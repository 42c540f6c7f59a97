"""HTML as tagged PDF (PDF/UA-1), by WeasyPrint, which uses the system's Pango."""

from pathlib import Path
from typing import Any, Final

from django.conf import settings

BASE_STYLE: Final = Path(settings.BASE_DIR) / "templates" / "pdf.css"  # shared by all documents
_VARIANT: Final = "pdf/ua-1"


class PangoMissing(Exception):
    """The system has no Pango (Debian: libpango-1.0-0, libpangoft2-1.0-0, libharfbuzz-subset0)."""


def write(html: str, *, style: Path) -> bytes:
    """Lay a whole document out with the shared styles and its own.  Nothing is fetched: it refers to no file.

    Raises:
        PangoMissing: as it says.
    """
    try:
        # Not at the top: it weighs 30 MB, and pages have to work where its Pango is missing.
        from weasyprint import CSS, HTML  # noqa: PLC0415  # loaded only where it is used: it is slow to import
    except OSError as error:
        raise PangoMissing from error
    document = HTML(string=html, url_fetcher=_nothing)
    styles = [CSS(filename=str(one)) for one in (BASE_STYLE, style)]
    written: bytes = document.write_pdf(stylesheets=styles, pdf_variant=_VARIANT)
    return written


def _nothing(url: str, *_: Any, **__: Any) -> Any:
    raise ValueError("a PDF document refers to no other file")
