"""Rows written by `insert` and `update` are the rows that `save` writes."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, IntegrityError, connection, models, transaction

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Ride
from lib.rows import insert, send_now, sent_together, update
from tests import factories

pytestmark = pytest.mark.django_db


def stored(row: models.Model, *, besides: tuple[str, ...] = ()) -> dict[str, Any]:
    """Read all columns of a row."""
    found = type(row)._base_manager.get(pk=row.pk)
    return {f.attname: getattr(found, f.attname) for f in row._meta.concrete_fields if f.attname not in besides}


def an_event(**given: Any) -> Event:
    said = {"type": "ride.updated", "subject_type": "ride", "subject_id": uuid4(), "sequence": 1, "actor": "system"}
    return Event(**{**said, "occurred_at": factories.NOW, "data": {"changed": ["notes"]}, **given})


def test_insert_writes_every_column_as_save_does() -> None:
    pattern = factories.RideFactory.create()
    columns = stored(pattern, besides=("id", "client_reference"))
    ride = Ride(**columns)

    assert insert(ride)

    assert not ride._state.adding
    assert ride._state.db == "default"
    assert stored(ride, besides=("id", "client_reference")) == columns


def test_what_is_empty_is_written_as_it_is() -> None:
    """Values that are mostly the same stand in the statement itself."""
    pattern = factories.RideFactory.create(driver_notes="Half of the 100% fare.", review_reasons=["lead_time"])
    columns = stored(pattern, besides=("id", "client_reference"))
    forms: list[dict[str, Any]] = [{}, {"driver_notes": ""}, {"review_reasons": []}]
    for changed in [*forms, {"driver_notes": "", "review_reasons": []}]:
        ride = Ride(**{**columns, **changed})

        insert(ride)

        assert stored(ride, besides=("id", "client_reference")) == {**columns, **changed}


def test_arrays_keep_their_type() -> None:
    riders = sorted([uuid4(), uuid4()])
    entry = AuditEntry(actor="system", action="rides.book", rider_ids=riders)

    insert(entry)

    assert AuditEntry.objects.get(pk=entry.pk).rider_ids == riders


def test_what_the_database_fills_is_read_when_asked_for() -> None:
    event = an_event()

    insert(event)

    assert event.recorded_at == Event.objects.get(pk=event.pk).recorded_at
    assert event.transaction == Event.objects.get(pk=event.pk).transaction


def test_what_the_database_would_fill_may_be_given() -> None:
    event = an_event(recorded_at=factories.NOW)

    insert(event)

    assert Event.objects.get(pk=event.pk).recorded_at == factories.NOW


def test_a_taken_key_is_an_error_unless_asked_otherwise() -> None:
    event = an_event()
    insert(event)
    again = an_event(subject_id=event.subject_id)

    assert not insert(again, unless_taken=True)
    assert again._state.adding
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(again)
    assert Event.objects.count() == 1


def test_an_error_spoils_the_transaction_around_it() -> None:
    event = an_event(type="no type")

    with transaction.atomic():
        with pytest.raises(IntegrityError):
            insert(event)
        assert connection.needs_rollback


def test_update_writes_the_named_columns_alone() -> None:
    ride = factories.RideFactory.create()
    before = stored(ride)
    ride.driver_notes, ride.facility_notes = "Ring twice.", "Not written."

    update(ride, ["driver_notes"])

    assert stored(ride) == {**before, "driver_notes": "Ring twice."}


def test_update_of_an_absent_row_is_an_error() -> None:
    ride = factories.RideFactory.build(rider=factories.RiderFactory.create())

    with pytest.raises(DatabaseError, match=r"rides\.Ride"):
        update(ride, ["driver_notes", "driver_notes"])


def test_writes_of_a_block_take_one_round_trip(django_assert_num_queries: Any) -> None:
    ride, event = factories.RideFactory.create(), an_event(data={"note": "100% done"})
    ride.driver_notes = "Ring twice; wait."

    with django_assert_num_queries(1), sent_together():
        insert(event)
        insert(AuditEntry(actor="system", action="rides.book"))
        update(ride, ["driver_notes"])

    assert Event.objects.get(pk=event.pk).data == {"note": "100% done"}
    assert AuditEntry.objects.filter(action="rides.book").count() == 1
    assert Ride.objects.get(pk=ride.pk).driver_notes == "Ring twice; wait."


def test_whoever_reads_in_the_block_sees_what_was_written(django_assert_num_queries: Any) -> None:
    first, second = an_event(), an_event()

    with django_assert_num_queries(5), sent_together():
        insert(first)
        assert Event.objects.filter(pk=first.pk).exists()
        insert(second)
        assert second.recorded_at is not None
        assert insert(an_event(subject_id=second.subject_id), unless_taken=True) is False


def test_what_a_block_holds_back_is_sent_when_asked_for(django_assert_num_queries: Any) -> None:
    with sent_together():
        insert(an_event())
        with django_assert_num_queries(1):
            send_now()
        with django_assert_num_queries(0):
            send_now()

    assert Event.objects.count() == 1


def test_a_block_that_fails_sends_nothing_more() -> None:
    def write_and_fail() -> None:
        insert(an_event())
        raise LookupError

    with pytest.raises(LookupError), transaction.atomic(), sent_together():
        write_and_fail()

    assert not Event.objects.exists()


@pytest.mark.parametrize("company", [0, 1])
def test_an_absent_row_is_found_missing_when_the_block_is_sent(company: int) -> None:
    ride = factories.RideFactory.build(rider=factories.RiderFactory.create())

    def write() -> None:
        for _ in range(company):
            insert(an_event())
        update(ride, ["driver_notes"])

    with pytest.raises(DatabaseError, match=r"rides\.Ride"), transaction.atomic(), sent_together():
        write()
