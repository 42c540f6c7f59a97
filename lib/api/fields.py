"""Strict fields: a value of another JSON type is refused, never converted.

Query strings contain only text; there (and only there) numbers, booleans and lists are parsed, each from a single
spelling.  Error messages are predicates ("must be a string."): the path of the field is put in front of them.
"""

import datetime as dt
import re
import unicodedata
import zoneinfo
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from rest_framework import serializers
from rest_framework.fields import empty

from lib.control_characters import has_control

_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_E164 = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,4}", re.ASCII)
_INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,18}(\.\d{1,18})?", re.ASCII)
_YEARS: Final = range(1800, 2201)  # arithmetic with later instants and time zones overflows

_EMPTY_MESSAGES: Final[dict[str, Any]] = {"required": "is required.", "null": "must not be null."}


def _is_text_of_query(field: serializers.Field[Any, Any, Any, Any], data: Any) -> bool:
    return isinstance(data, str) and getattr(field.root, "of_query", False)


class Text(serializers.CharField):
    """A string without control characters, normalized to NFC; `multiline` allows line breaks and tabs."""

    default_error_messages = _EMPTY_MESSAGES | {
        "invalid": "must be a string.",
        "blank": "must not be empty.",
        "max_length": "must not be longer than {max_length} characters.",
        "min_length": "must not be shorter than {min_length} characters.",
        "control": "must not contain control characters.",
    }

    def __init__(self, *, multiline: bool = False, **kwargs: Any) -> None:
        self.multiline = multiline
        super().__init__(**kwargs)

    def run_validation(self, data: Any = empty) -> Any:
        # CharField trims `str(data)` before it looks at the type.
        if data is not empty and data is not None and not isinstance(data, str):
            self.fail("invalid")
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        text = unicodedata.normalize("NFC", super().to_internal_value(data))
        if has_control(text, but="\n\r\t" if self.multiline else ""):
            self.fail("control")
        return text


class _Patterned(Text):
    """A string of one exact form."""

    pattern: re.Pattern[str]

    def to_internal_value(self, data: Any) -> Any:
        text = super().to_internal_value(data)
        if not self.pattern.fullmatch(text):
            self.fail("form")
        return text


class Phone(_Patterned):
    """A telephone number in E.164: plus, country code, number."""

    pattern = _E164
    default_error_messages = {"form": "must be a phone number in E.164 form, such as +13125550140."}


class Language(_Patterned):
    """A language by its BCP 47 tag."""

    pattern = _LANGUAGE
    default_error_messages = {"form": "must be a BCP 47 language tag, such as en or es-MX."}


class Zone(Text):
    """A time zone by its IANA name."""

    default_error_messages = {"unknown": "must be an IANA time zone, such as America/Chicago."}

    def to_internal_value(self, data: Any) -> str:
        name = super().to_internal_value(data)
        if name not in _zones():
            self.fail("unknown")
        return name


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


class Integer(serializers.IntegerField):
    """A whole number."""

    default_error_messages = _EMPTY_MESSAGES | {
        "invalid": "must be a whole number.",
        "max_value": "must not be greater than {max_value}.",
        "min_value": "must not be less than {min_value}.",
    }

    def to_internal_value(self, data: Any) -> int:
        if _is_text_of_query(self, data) and _INTEGER.fullmatch(data):
            return int(data)
        if type(data) is not int:  # bool is an int
            self.fail("invalid")
        return data


class Number(serializers.DecimalField):
    """A decimal number; a JSON number on the wire both ways."""

    default_error_messages = _EMPTY_MESSAGES | {
        "invalid": "must be a number.",
        "max_value": "must not be greater than {max_value}.",
        "min_value": "must not be less than {min_value}.",
        "max_digits": "must not have more than {max_digits} digits.",
        "max_decimal_places": "must not have more than {max_decimal_places} decimal places.",
        "max_whole_digits": "must not have more than {max_whole_digits} digits before the decimal point.",
    }

    def __init__(self, *, max_digits: int = 9, decimal_places: int = 2, **kwargs: Any) -> None:
        super().__init__(max_digits=max_digits, decimal_places=decimal_places, coerce_to_string=False, **kwargs)

    def to_internal_value(self, data: Any) -> Decimal:
        if not (_is_text_of_query(self, data) and _NUMBER.fullmatch(data)) and type(data) not in (int, float):
            self.fail("invalid")
        return super().to_internal_value(repr(data) if isinstance(data, float) else str(data))

    def to_representation(self, value: Any) -> Any:
        return None if value is None else float(value)


class Boolean(serializers.BooleanField):
    """true or false."""

    default_error_messages = _EMPTY_MESSAGES | {"invalid": "must be true or false."}
    NULL_VALUES: set[Any] = set()

    def to_internal_value(self, data: Any) -> bool:
        if _is_text_of_query(self, data) and data in ("true", "false"):
            return bool(data == "true")
        if not isinstance(data, bool):
            self.fail("invalid")
        return data


class Choice(serializers.ChoiceField):
    """One of a list of words."""

    default_error_messages = _EMPTY_MESSAGES | {
        "invalid_choice": "must be one of: {allowed}.",
    }

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str) or data not in self.choices:
            self.fail("invalid_choice", allowed=", ".join(str(choice) for choice in self.choices))
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class Instant(serializers.DateTimeField):
    """An instant: RFC 3339 with an offset; output in UTC with `Z`."""

    default_error_messages = _EMPTY_MESSAGES | {
        "form": "must be an RFC 3339 time with an offset, such as 2026-11-20T14:00:00Z.",
    }

    def to_internal_value(self, value: Any) -> dt.datetime:
        if not isinstance(value, str) or not _INSTANT.fullmatch(value):
            self.fail("form")
        try:
            moment = dt.datetime.fromisoformat(value.upper())
        except ValueError:
            self.fail("form")
        if moment.year not in _YEARS:
            self.fail("form")
        return moment.astimezone(dt.UTC)

    def to_representation(self, value: Any) -> Any:
        return None if value is None else instant_text(value)


def instant_text(moment: dt.datetime) -> str:
    """Write an aware instant as RFC 3339 in UTC with `Z`."""
    return moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


class LocalDate(serializers.DateField):
    """A day of the calendar, YYYY-MM-DD."""

    default_error_messages = _EMPTY_MESSAGES | {"form": "must be a date, such as 2026-11-20."}

    def to_internal_value(self, value: Any) -> dt.date:
        if not isinstance(value, str) or not _DATE.fullmatch(value):
            self.fail("form")
        try:
            day = dt.date.fromisoformat(value)
        except ValueError:
            self.fail("form")
        if day.year not in _YEARS:
            self.fail("form")
        return day


class ClockTime(serializers.TimeField):
    """A time of day on the local clock, HH:MM."""

    default_error_messages = _EMPTY_MESSAGES | {"form": "must be a time of day, such as 07:30."}

    def to_internal_value(self, value: Any) -> dt.time:
        if not isinstance(value, str) or not _CLOCK.fullmatch(value):
            self.fail("form")
        return dt.time.fromisoformat(value)

    def to_representation(self, value: Any) -> Any:
        return None if value is None else value.strftime("%H:%M")


class Uuid(serializers.UUIDField):
    """An identifier; opaque to clients."""

    default_error_messages = _EMPTY_MESSAGES | {"form": "must be an id as this service gave it."}

    def to_internal_value(self, data: Any) -> UUID:
        if not isinstance(data, str) or not _UUID.fullmatch(data):
            self.fail("form")
        return UUID(data)


class List(serializers.ListField):
    """A list of one kind of field; in the query string, separated by commas."""

    default_error_messages = _EMPTY_MESSAGES | {
        "not_a_list": "must be a list.",
        "empty": "must not be empty.",
        "min_length": "must not have fewer than {min_length} elements.",
        "max_length": "must not have more than {max_length} elements.",
    }

    def get_value(self, dictionary: Any) -> Any:
        return dictionary.get(self.field_name, empty)

    def to_internal_value(self, data: Any) -> list[Any]:
        if _is_text_of_query(self, data):
            data = data.split(",")
        if not isinstance(data, list):
            self.fail("not_a_list")
        if self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)  # before a million children are validated
        return list(super().to_internal_value(data))


class Texts(serializers.DictField):
    """An object whose values are strings; names and values are validated by the services."""

    default_error_messages = _EMPTY_MESSAGES | {"invalid": "must be an object of strings."}

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=serializers.CharField(), **kwargs)

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
            self.fail("invalid")
        return dict(data)


class Anything(serializers.JSONField):
    """A JSON value that is output as stored; for answers only."""
