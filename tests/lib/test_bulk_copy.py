"""Rows written by COPY are read back unchanged."""

import datetime as dt
from typing import Any
from uuid import UUID

import pytest

from apps.events.models import Event
from lib.db.bulk_copy import copy_rows
from lib.ids import uuid7

pytestmark = pytest.mark.django_db
NOON = dt.datetime(2026, 11, 20, 12, 0, tzinfo=dt.UTC)


def event(**columns: Any) -> dict[str, Any]:
    return {
        "id": uuid7(),
        "type": "ride.scheduled",
        "subject_type": "ride",
        "subject_id": UUID(int=1),
        "sequence": 1,
        "occurred_at": NOON,
        "actor": "system",
    } | columns


@pytest.mark.parametrize(
    "instant", [NOON, NOON.timestamp(), NOON.astimezone(dt.timezone(dt.timedelta(hours=-6)))], ids=str
)
def test_instant_is_aware_or_seconds_since_1970(instant: dt.datetime | float) -> None:
    copy_rows(Event, [event(occurred_at=instant)])

    assert Event.objects.get().occurred_at == NOON


@pytest.mark.parametrize(
    "text", ["plain", "", r"C:\new", "two\nlines", "a\ttab", "\r", r"\N", r"\.", 'say "so"', "Ångström 🚐"]
)
def test_text_comes_out_as_it_went_in(text: str) -> None:
    copy_rows(Event, [event(request_id=text, data={"said": text})])

    assert Event.objects.values_list("request_id", "data").get() == (text, {"said": text})


def test_text_in_a_json_column_is_json_already() -> None:
    copy_rows(Event, [event(data=r'{"said": "a\\b"}')])

    assert Event.objects.get().data == {"said": r"a\b"}


def test_omitted_columns_get_model_and_database_defaults() -> None:
    assert copy_rows(Event, [event(), event(sequence=2, request_id="r-1", data=None)]) == 2

    first, second = Event.objects.order_by("sequence")
    assert (first.request_id, first.data, first.facility_id) == ("", {}, None)
    assert (second.request_id, second.data) == ("r-1", {})
    assert first.transaction == second.transaction
    assert first.recorded_at == second.recorded_at


def test_nothing_is_copied_where_there_is_nothing() -> None:
    assert copy_rows(Event, []) == 0


def test_column_that_a_table_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^Event has no column \['colour'\]\.$"):
        copy_rows(Event, [{"colour": "red"}])
