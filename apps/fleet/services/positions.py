"""Positions of drivers and vehicles, as telematics systems report them.

Positions are no history: only the newest of each driver is stored, without a new version of the driver, an event or a
change on live pages, as those of status reports.  A position of a vehicle belongs to the driver whose planned shift
with the vehicle covers its time, else to the driver of a ride under way with the vehicle.

A batch is one transaction with the same number of queries for any number of positions.  It locks the drivers, in the
order of their ids, before it compares times: of two batches at once the newest position stays, whichever comes last.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet import queries
from lib.access import Principal
from lib.errors import InvalidInput

MAX_POSITIONS: Final = 500  # of a request, as many as rides of a bulk booking
CLOCK_TOLERANCE: Final = timedelta(minutes=2)  # how far the clock of a device may be ahead
# Maximum age of a vehicle's position: it limits the shifts to search, and an older one does not show where a driver is.
MAX_VEHICLE_AGE: Final = timedelta(hours=24)

# The drivers are locked before.
_SAVE: Final = """
    UPDATE fleet_driver d
    SET last_lat = p.lat, last_lng = p.lng, last_located_at = p.located_at, last_heading = p.heading,
        last_speed_mph = p.speed_mph
    FROM unnest(%(ids)s::uuid[], %(lats)s::numeric[], %(lngs)s::numeric[], %(times)s::timestamptz[],
        %(headings)s::smallint[], %(speeds)s::numeric[]) p (id, lat, lng, located_at, heading, speed_mph)
    WHERE d.id = p.id
"""


@dataclass(frozen=True, slots=True)
class Position:
    """A reported position of a driver, or of a vehicle; `heading` is in degrees clockwise from north."""

    at: datetime
    lat: Decimal
    lng: Decimal
    driver_id: UUID | None = None
    vehicle_id: UUID | None = None
    heading: int | None = None
    speed_mph: Decimal | None = None


class _DriverShift(NamedTuple):
    starts_at: datetime
    ends_at: datetime
    driver_id: UUID


@dataclass(slots=True)
class _Crews:
    """Locked drivers with the time of their last position, visible vehicles, and who drives them."""

    vehicle_ids: set[UUID]
    located_at: dict[UUID, datetime | None] = field(default_factory=dict)
    shifts: dict[UUID, set[_DriverShift]] = field(default_factory=lambda: defaultdict(set))
    under_way: dict[UUID, tuple[datetime, UUID]] = field(default_factory=dict)  # last pickup time and its driver

    def driver_with(self, vehicle_id: UUID, moment: datetime) -> UUID | None:
        """Return who has a vehicle at a moment."""
        for shift in self.shifts[vehicle_id]:
            if shift.starts_at <= moment < shift.ends_at:
                return shift.driver_id
        return self.under_way[vehicle_id][1] if vehicle_id in self.under_way else None


@transaction.atomic
def store(*, positions: Sequence[Position], by: Principal, at: datetime) -> list[InvalidInput | None]:
    """Store the newest position of each driver; return for each position why it is refused, or None.

    A position up to `CLOCK_TOLERANCE` ahead is stored with `at`, the time of receipt.  A refusal names the field by its
    place in the list; a driver or vehicle outside the data scope is refused as one that does not exist.  Two queries
    for any number of positions, another one if vehicles are named, and an audit entry.
    """
    crews = _locked_crews(positions, by=by, at=at)
    newest: dict[UUID, Position] = {}
    refusals: list[InvalidInput | None] = []
    for index, position in enumerate(positions):
        try:
            driver_id = _driver_of(position, crews, at=at, place=f"positions[{index}].")
            if _is_known(position, newest.get(driver_id), crews.located_at[driver_id], at=at):
                message = _("A position of the driver that is at least as recent is known.")
                raise InvalidInput(f"positions[{index}].at", message, detail_code="out_of_order")
        except InvalidInput as refusal:
            refusals.append(refusal)
        else:
            newest[driver_id] = position
            refusals.append(None)
    if newest:
        _save(newest, at=at)
        stored = refusals.count(None)
        counts = {"drivers": len(newest), "stored": stored, "refused": len(refusals) - stored}
        audit.record(by=by, action="drivers.locate", subject_type="driver", details=counts)
    return refusals


def _locked_crews(positions: Sequence[Position], *, by: Principal, at: datetime) -> _Crews:
    """Lock the drivers whom positions may concern, in the order of their ids.  One query, two with vehicles."""
    moments = [min(position.at, at) for position in positions if position.vehicle_id is not None]
    named_ids = {position.vehicle_id for position in positions if position.vehicle_id is not None}
    crews = _Crews(vehicle_ids=queries.visible_vehicle_ids(named_ids, by))
    rows = queries.locked_crews(
        {position.driver_id for position in positions if position.driver_id is not None},
        crews.vehicle_ids,
        earliest=max(min(moments, default=at), at - MAX_VEHICLE_AGE),
        latest=max(moments, default=at),
        by=by,
        at=at,
    )
    for row in rows:
        crews.located_at[row.driver_id] = row.located_at
        if row.shift_vehicle_id is not None:
            crews.shifts[row.shift_vehicle_id].add(_DriverShift(row.shift_starts_at, row.shift_ends_at, row.driver_id))
        if row.ride_vehicle_id is not None:
            latest_ride = (row.ride_pickup_at, row.driver_id)
            crews.under_way[row.ride_vehicle_id] = max(
                latest_ride, crews.under_way.get(row.ride_vehicle_id, latest_ride)
            )
    return crews


def _driver_of(position: Position, crews: _Crews, *, at: datetime, place: str) -> UUID:
    """Return the driver whose position this is.

    Raises:
        InvalidInput: the driver or vehicle is unknown, the time too late or too early, or nobody has the vehicle.
    """
    if position.driver_id is not None and position.driver_id not in crews.located_at:
        raise InvalidInput(f"{place}driverId", _("There is no such driver."), detail_code="unknown")
    if position.vehicle_id is not None and position.vehicle_id not in crews.vehicle_ids:
        raise InvalidInput(f"{place}vehicleId", _("There is no such vehicle."), detail_code="unknown")
    if position.at > at + CLOCK_TOLERANCE:
        message = _("%(field)s is more than two minutes in the future.")
        raise InvalidInput(f"{place}at", message, detail_code="in_future")
    if position.vehicle_id is None:
        return cast(UUID, position.driver_id)
    if position.at < at - MAX_VEHICLE_AGE:
        raise InvalidInput(f"{place}at", _("%(field)s is more than a day in the past."), detail_code="too_old")
    driver_id = crews.driver_with(position.vehicle_id, min(position.at, at))
    if driver_id is None:
        message = _("No driver has the vehicle at that time, by shift or ride.")
        raise InvalidInput(f"{place}vehicleId", message, detail_code="no_driver")
    return driver_id


def _is_known(position: Position, newest: Position | None, located_at: datetime | None, *, at: datetime) -> bool:
    """Return whether a position at least as recent is in the same request or stored.

    Within a request the times of the device count, of which several may be ahead of the time of receipt.
    """
    if newest is not None:
        return position.at <= newest.at
    return located_at is not None and min(position.at, at) <= located_at


def _save(newest: Mapping[UUID, Position], *, at: datetime) -> None:
    columns: dict[str, list[Any]] = {
        "ids": list(newest),
        "lats": [position.lat for position in newest.values()],
        "lngs": [position.lng for position in newest.values()],
        "times": [min(position.at, at) for position in newest.values()],
        "headings": [position.heading for position in newest.values()],
        "speeds": [position.speed_mph for position in newest.values()],
    }
    with connection.cursor() as cursor:
        cursor.execute(_SAVE, columns)
