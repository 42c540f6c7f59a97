"""Dates and times as tables of pages show them."""

from lib.clocks import shows_twelve_hours


class _OfTheReader(str):
    """A format with a clock of 24 hours, which Django keeps and which is another one whenever it is used for others."""

    def __str__(self) -> str:
        return self.replace("H:i", "g:i\N{NO-BREAK SPACE}A") if shows_twelve_hours() else super().__str__()


DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = _OfTheReader("Y-m-d H:i T")
TIME_FORMAT = _OfTheReader("H:i")
SHORT_DATE_FORMAT = "Y-m-d"
