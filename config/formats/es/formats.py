"""Spanish as it is written in the United States: dates, times and numbers are those of the English pages.

Django's own for "es" are Spain's: 3/4 would be April there, and a comma a decimal point.
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
