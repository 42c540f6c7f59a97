"""Dates and times as tables of pages show them (console.md 4.7)."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = "Y-m-d H:i T"
TIME_FORMAT = "H:i"
SHORT_DATE_FORMAT = "Y-m-d"
