"""Formats of dates and times in tables of pages."""

from lib.clocks import shows_twelve_hours


class _OfTheReader(str):
    """A time format that depends on the reader's clock.

    Stored as the 24-hour format, because Django caches formats.
    """

    def __str__(self) -> str:
        return self.replace("H:i", "g:i\N{NO-BREAK SPACE}A") if shows_twelve_hours() else super().__str__()


DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = _OfTheReader("Y-m-d H:i T")
TIME_FORMAT = _OfTheReader("H:i")
SHORT_DATE_FORMAT = "Y-m-d"
