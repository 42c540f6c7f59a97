"""Events of changes to drivers and vehicles."""

from datetime import datetime

from apps.events import services as events
from apps.fleet.models import Driver, Vehicle
from lib.access import Principal


def record_event(record: Driver | Vehicle, *, by: Principal, at: datetime) -> None:
    """Record the event for the current version of a driver or vehicle, in the transaction that raised the version.

    For the services of this package, and for admin forms, which save rows directly.  One insert.
    """
    subject = "driver" if isinstance(record, Driver) else "vehicle"
    events.record(
        type=f"{subject}.{'created' if record.version == 1 else 'updated'}",
        subject_type=subject,
        subject_id=record.pk,
        sequence=record.version,
        provider_id=record.provider_id,
        occurred_at=at,
        by=by,
        data={f"{subject}Id": str(record.pk)},
    )
