"""What the world hears of drivers and vehicles as records."""

from datetime import datetime

from apps.events import services as events
from apps.fleet.models import Driver, Vehicle
from lib.access import Principal


def record_event(record: Driver | Vehicle, *, by: Principal, at: datetime) -> None:
    """Record the event of the version that a driver or vehicle has reached, in the transaction that raised it.

    For the verbs beside this, and for forms of the admin, which save rows by themselves.  Costs one insert.
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
