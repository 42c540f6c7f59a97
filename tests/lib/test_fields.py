"""Strict fields: one spelling each, nothing converted."""

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import ValidationError

from lib.api import fields
from lib.api.query import Query, parse
from lib.api.serializers import In, OutShape, camel

UTC = dt.UTC


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (fields.Text(), " a b ", "a b"),
        (fields.Text(), "e\u0301", "\u00e9"),
        (fields.Text(multiline=True), "a\nb\tc", "a\nb\tc"),
        (fields.Text(allow_blank=True), "", ""),
        (fields.Integer(), -5, -5),
        (fields.Number(), 2.5, Decimal("2.5")),
        (fields.Number(), 2, Decimal(2)),
        (fields.Boolean(), False, False),
        (fields.Choice(choices=[("a", "A")]), "a", "a"),
        (fields.Instant(), "2026-11-20T08:00:00-06:00", dt.datetime(2026, 11, 20, 14, tzinfo=UTC)),
        (fields.Instant(), "2026-11-20t14:00:00.5z", dt.datetime(2026, 11, 20, 14, 0, 0, 500_000, tzinfo=UTC)),
        (fields.Instant(), "2026-11-20T14:00:00.123456789Z", dt.datetime(2026, 11, 20, 14, 0, 0, 123_456, tzinfo=UTC)),
        (fields.LocalDate(), "2024-02-29", dt.date(2024, 2, 29)),
        (fields.ClockTime(), "07:30", dt.time(7, 30)),
        (fields.Uuid(), "01937B2E-5F6A-7C3D-9E8F-0A1B2C3D4E5F", UUID("01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f")),
        (fields.Phone(), "+13125550140", "+13125550140"),
        (fields.Zone(), "America/Chicago", "America/Chicago"),
        (fields.Texts(), {"X-Site": " a "}, {"X-Site": " a "}),
        (fields.List(child=fields.Integer()), [1, 2], [1, 2]),
    ],
)
def test_right_value_is_taken(field: Any, value: Any, expected: Any) -> None:
    assert field.run_validation(value) == expected


@pytest.mark.parametrize(
    ("field", "value"),
    [
        (fields.Text(), 5),
        (fields.Text(), True),
        (fields.Text(), ["a"]),
        (fields.Text(), ""),
        (fields.Text(), "a\x00"),
        (fields.Text(), "a\x1b[31m"),
        (fields.Text(), "a\nb"),
        (fields.Text(multiline=True), "a\x07"),
        (fields.Integer(), "5"),
        (fields.Integer(), 5.0),
        (fields.Integer(), True),
        (fields.Number(), "5"),
        (fields.Number(), True),
        (fields.Number(), 1e300),
        (fields.Number(decimal_places=1), 1.25),
        (fields.Boolean(), "true"),
        (fields.Boolean(), 1),
        (fields.Boolean(), None),
        (fields.Choice(choices=[("a", "A")]), "A"),
        (fields.Choice(choices=[("a", "A")]), ["a"]),
        (fields.Choice(choices=[("5", "A")]), 5),
        (fields.Instant(), "2026-11-20T14:00:00"),
        (fields.Instant(), "2026-11-20 14:00:00Z"),
        (fields.Instant(), "2026-11-20T14:00Z"),
        (fields.Instant(), "2026-11-20T24:00:00Z"),
        (fields.Instant(), "2026-02-30T14:00:00Z"),
        (fields.Instant(), "0001-01-01T00:00:00+14:00"),
        (fields.Instant(), "9999-12-31T23:59:59-14:00"),
        (fields.Instant(), "２０２６-11-20T14:00:00Z"),  # noqa: RUF001  # full-width digits
        (fields.Instant(), 1763632800),
        (fields.LocalDate(), "2026-2-3"),
        (fields.LocalDate(), "20260203"),
        (fields.LocalDate(), "2023-02-29"),
        (fields.LocalDate(), "1066-10-14"),
        (fields.ClockTime(), "7:30"),
        (fields.ClockTime(), "24:00"),
        (fields.ClockTime(), "07:30:00"),
        (fields.Uuid(), "01937b2e5f6a7c3d9e8f0a1b2c3d4e5f"),
        (fields.Uuid(), "{01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f}"),
        (fields.Uuid(), 5),
        (fields.Phone(), "3125550140"),
        (fields.Phone(), "+0125550140"),
        (fields.Phone(), "+1 312 555 0140"),
        (fields.Zone(), "Chicago"),
        (fields.Zone(), "../../etc/passwd"),
        (fields.Texts(), {"X-Site": 5}),
        (fields.Texts(), ["X-Site"]),
        (fields.Texts(), None),
        (fields.List(child=fields.Integer()), "1,2"),
        (fields.List(child=fields.Integer()), {"0": 1}),
        (fields.List(child=fields.Integer(), max_length=1), [1, 2]),
        (fields.List(child=fields.Integer(), allow_empty=False), []),
    ],
)
def test_wrong_value_is_refused_with_a_predicate(field: Any, value: Any) -> None:
    with pytest.raises(ValidationError) as refusal:
        field.run_validation(value)

    (message,) = refusal.value.detail
    assert str(message).startswith("must ")


@given(st.datetimes(dt.datetime(1801, 1, 1), dt.datetime(2199, 12, 31), timezones=st.timezones()))  # noqa: DTZ001  # hypothesis adds the zone
def test_instant_survives_the_way_out_and_in(moment: dt.datetime) -> None:
    field = fields.Instant()

    text = field.to_representation(moment)

    assert text.endswith("Z")
    assert field.run_validation(text) == moment.astimezone(UTC)


class SampleQuery(Query):
    count = fields.Integer(required=False)
    share = fields.Number(required=False)
    open = fields.Boolean(required=False)
    status = fields.List(child=fields.Choice(choices=[("a", "A"), ("b", "B")]), required=False)


def test_query_is_read_from_its_one_spelling() -> None:
    assert parse(SampleQuery, QueryDict("count=5&share=2.5&open=false&status=a,b")) == {
        "count": 5,
        "share": Decimal("2.5"),
        "open": False,
        "status": ["a", "b"],
    }


@pytest.mark.parametrize(
    "text",
    ["count=5.0", "count=+5", "count=1e3", "count=9999999999999999999", "share=.5", "share=NaN", "share=1e3",
     "open=True", "open=1", "status=", "status=a,", "status=a,c", "status=a&status=b", "Count=5", "count= 5"],
)  # fmt: skip
def test_other_spellings_in_the_query_are_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        parse(SampleQuery, QueryDict(text))


class InnerIn(In):
    unit_number = fields.Text()


class OuterIn(In):
    home_stop = InnerIn(required=False, allow_null=True)
    pickup_time = fields.Instant(source="pickup_at", required=False)


def test_keys_are_camel_case_outside_and_snake_case_inside() -> None:
    shape = OuterIn(data={"homeStop": {"unitNumber": "4W"}, "pickupTime": "2026-11-20T14:00:00Z"})

    assert shape.is_valid()
    assert shape.validated_data == {
        "home_stop": {"unit_number": "4W"},
        "pickup_at": dt.datetime(2026, 11, 20, 14, tzinfo=UTC),
    }


def test_null_and_unknown_keys_inside_are_told_apart() -> None:
    assert OuterIn(data={"homeStop": None}).is_valid()
    shape = OuterIn(data={"homeStop": {"unitNumber": "4W", "unit_number": "x"}})
    assert not shape.is_valid()
    assert shape.errors["homeStop"]["unit_number"][0].code == "unknown"


class ShapeOut(OutShape):
    wait_minutes = fields.Integer()
    share = fields.Number()
    day = fields.LocalDate()
    opens = fields.ClockTime()
    at = fields.Instant()


def test_answer_is_written_as_it_is_read() -> None:
    shown = ShapeOut(
        {
            "wait_minutes": 5,
            "share": Decimal("0.25"),
            "day": dt.date(2026, 11, 20),
            "opens": dt.time(7, 30),
            "at": dt.datetime(2026, 11, 20, 8, tzinfo=dt.timezone(dt.timedelta(hours=-6))),
        }
    ).data

    assert dict(shown) == {
        "waitMinutes": 5,
        "share": 0.25,
        "day": "2026-11-20",
        "opens": "07:30",
        "at": "2026-11-20T14:00:00Z",
    }


def test_camel_case_keeps_digits_and_single_words() -> None:
    assert [camel(name) for name in ("id", "pickup_time", "address_line1")] == ["id", "pickupTime", "addressLine1"]
