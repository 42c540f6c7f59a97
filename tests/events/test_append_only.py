"""History cannot be altered, not even by the service itself."""

import pytest
from django.db import InternalError, ProgrammingError, transaction

from apps.events import services
from apps.events.models import Event
from lib.access import Principal
from lib.ids import uuid7
from tests.factories import NOW


@pytest.fixture
def event(dispatcher: Principal) -> Event:
    return services.record(
        type="ride.scheduled", subject_type="ride", subject_id=uuid7(), sequence=1, occurred_at=NOW, by=dispatcher
    )


def test_event_cannot_be_changed(event: Event) -> None:
    with pytest.raises((ProgrammingError, InternalError), match="append-only"), transaction.atomic():
        Event.objects.filter(pk=event.pk).update(type="ride.completed")

    event.refresh_from_db()
    assert event.type == "ride.scheduled"


def test_event_cannot_be_deleted(event: Event) -> None:
    with pytest.raises((ProgrammingError, InternalError), match="append-only"), transaction.atomic():
        Event.objects.filter(pk=event.pk).delete()

    assert Event.objects.filter(pk=event.pk).exists()
