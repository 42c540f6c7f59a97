"""Spanish as in the United States: dates, times and numbers have the formats of the English pages.

Django's formats for "es" are those of Spain: 3/4 would be April, and a comma the decimal point.
"""

from django.conf.locale.en.formats import (  # type: ignore[import-untyped]  # no stubs
    DATE_INPUT_FORMATS,
    DATETIME_INPUT_FORMATS,
    DECIMAL_SEPARATOR,
    FIRST_DAY_OF_WEEK,
    NUMBER_GROUPING,
    THOUSAND_SEPARATOR,
    TIME_INPUT_FORMATS,
)

from config.formats.en.formats import DATE_FORMAT, DATETIME_FORMAT, SHORT_DATE_FORMAT, TIME_FORMAT

__all__ = [
    "DATETIME_FORMAT",
    "DATETIME_INPUT_FORMATS",
    "DATE_FORMAT",
    "DATE_INPUT_FORMATS",
    "DECIMAL_SEPARATOR",
    "FIRST_DAY_OF_WEEK",
    "NUMBER_GROUPING",
    "SHORT_DATE_FORMAT",
    "THOUSAND_SEPARATOR",
    "TIME_FORMAT",
    "TIME_INPUT_FORMATS",
]
