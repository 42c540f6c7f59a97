"""Compact legs for tests of figures: minutes count from the pickup time unless noted."""

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from apps.fleet.models import Driver, Vehicle
from apps.riders.models import Rider
from apps.rides.models import Assignment, Milestone, Ride, RideException
from lib.ids import uuid7
from tests import factories

CHICAGO = ZoneInfo("America/Chicago")
BEFORE = {"completed": "in_progress", "cancelled": "assigned", "no_show": "arrived", "unfulfilled": "assigned"}
ENDED_BADLY = ("cancelled", "no_show", "unfulfilled")
DRIVEN = ("assigned", "en_route", "arrived", "in_progress", "completed", "no_show")


@dataclass(frozen=True)
class Trouble:
    """An exception; minutes count from its opening."""

    type: str
    severity: str = "warning"
    acknowledged: int | None = None
    resolved: int | None = None
    code: str = "other"


@dataclass(frozen=True)
class Leg:
    """One ride.  `ready` makes it a will-call leg; `ready=None` with `will_call` an unreleased one."""

    day: int  # of November 2026
    at: str = "10:00"  # local
    status: str = "completed"
    service: str = "appointment"
    way: str = "one_way"
    reason: str = ""
    fault: str = ""
    timing: str = ""
    arrived: int | None = None
    boarded: int | None = None
    delivered: int | None = None
    dropped: int | None = None
    appointment: int | None = None
    will_call: bool = False
    ready: int | None = None
    response: int = 60  # promised minutes after ready
    ordered: int | None = None  # the order of discharge
    requested: int = 1440  # before the pickup
    accepted: int | None = 30  # after the request, when it was scheduled
    ended: int = 0
    onboard: int | None = None
    direct: int | None = None
    missing: tuple[str, ...] = ()
    seen_at: tuple[int, int] | None = None  # meters from pickup and drop-off, by the driver's device
    troubles: tuple[Trouble, ...] = ()
    also: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Cast:
    facility: Any  # or None, for rides without a facility
    rider: Rider
    driver: Driver
    vehicle: Vehicle


def cast() -> Cast:
    driver = factories.DriverFactory.create()
    return Cast(
        facility=factories.FacilityFactory.create(),
        rider=factories.RiderFactory.create(),
        driver=driver,
        vehicle=factories.VehicleFactory.create(provider=driver.provider),
    )


def pickup_of(leg: Leg) -> dt.datetime:
    hour, minute = map(int, leg.at.split(":"))
    return dt.datetime(2026, 11, leg.day, hour, minute, tzinfo=CHICAGO).astimezone(dt.UTC)


def write(leg: Leg, by: Cast) -> Ride:
    """Write the rows of one leg, and no event."""
    return write_all([leg], by)[0]


def write_all(legs: Sequence[Leg], by: Cast) -> list[Ride]:
    """Write the rows of legs in one statement for each table, and no events."""
    rides = Ride.objects.bulk_create(factories.RideFactory.build(**columns_of(leg, by)) for leg in legs)
    _write_related(zip(legs, rides, strict=True), by)
    return rides


def become(ride: Ride, leg: Leg, by: Cast) -> None:
    """Replace the rows of a ride by those of another leg, from any status to any other."""
    for hung in (ride.assignments, ride.milestones, ride.exceptions):
        hung.all().delete()
    Ride.objects.filter(pk=ride.pk).update(**columns_of(leg, by), timezone=str(CHICAGO))
    ride.refresh_from_db()
    _write_related([(leg, ride)], by)


def columns_of(leg: Leg, by: Cast) -> dict[str, Any]:
    """Return the columns of a ride for a leg."""
    pickup_at = pickup_of(leg)

    def moment(minutes: int | None) -> dt.datetime | None:
        return None if minutes is None else pickup_at + dt.timedelta(minutes=minutes)

    requested_at = pickup_at - dt.timedelta(minutes=leg.requested)
    will_call = leg.will_call or leg.ready is not None
    ready_at = moment(leg.ready)
    promised = moment(15) if not will_call else None
    if ready_at is not None:
        promised = ready_at + dt.timedelta(minutes=leg.response)
    driven = leg.status in DRIVEN
    columns: dict[str, Any] = {
        "facility": by.facility,
        "pickup": factories.stop(name="Hospital", facilityId=str(by.facility.pk) if by.facility else None),
        "rider": by.rider,
        "service_type": leg.service,
        "leg_type": leg.way,
        "pickup_at": pickup_at,
        "service_date": dt.date(2026, 11, leg.day),
        "status": leg.status,
        "status_before_end": BEFORE.get(leg.status, ""),
        "status_changed_at": moment(leg.ended),
        "reason_code": leg.reason,
        "fault": leg.fault,
        "cancellation_timing": leg.timing,
        "ended_by": "system" if leg.status in ENDED_BADLY else "",
        "arrived_pickup_at": moment(leg.arrived),
        "boarded_at": moment(leg.boarded),
        "arrived_dropoff_at": moment(leg.delivered),
        "dropped_off_at": moment(leg.dropped),
        "appointment_at": moment(leg.appointment),
        "will_call": will_call,
        "pickup_time_kind": "estimated" if will_call else "firm",
        "will_call_expires_at": moment(600) if will_call else None,
        "ready_at": ready_at,
        "ready_source": "phone" if ready_at else "",
        "promised_pickup_by": promised,
        "requested_at": requested_at,
        "scheduled_at": requested_at if leg.status != "requested" else None,
        "onboard_minutes": leg.onboard,
        "estimated_minutes": leg.direct,
        "missing_documents": list(leg.missing),
        "driver": by.driver if driven else None,
        "vehicle": by.vehicle if driven else None,
        "provider": by.driver.provider if driven else None,
        "assignment_id": uuid7() if driven else None,
    }
    if leg.service == "hospital_discharge":
        order = moment(leg.ordered)
        columns["discharge"] = {} if order is None else {"dischargeOrderAt": order.isoformat().replace("+00:00", "Z")}
    return columns | leg.also


def _write_related(rides: Iterable[tuple[Leg, Ride]], by: Cast) -> None:
    """Write the assignments, milestones and exceptions of rides."""
    assignments, milestones, exceptions = [], [], []
    for leg, ride in rides:
        pickup_at = pickup_of(leg)
        if leg.accepted is not None:
            assignments.append(_assignment(ride, pickup_at - dt.timedelta(minutes=leg.requested - leg.accepted), by))
        if leg.seen_at is not None:
            milestones += [
                Milestone(
                    ride=ride,
                    type=kind,
                    occurred_at=pickup_at + dt.timedelta(minutes=at or 0),
                    source="driver_app",
                    distance_from_stop_meters=meters,
                    actor="system",
                )
                for kind, meters, at in zip(
                    ("arrived_pickup", "arrived_dropoff"), leg.seen_at, (leg.arrived, leg.delivered), strict=True
                )
            ]
        exceptions += [_exception(ride, trouble) for trouble in leg.troubles]
    Assignment.objects.bulk_create(assignments)
    Milestone.objects.bulk_create(milestones)
    RideException.objects.bulk_create(exceptions)


def _assignment(ride: Ride, at: dt.datetime, by: Cast) -> Assignment:
    return Assignment(
        ride=ride,
        provider=by.driver.provider,
        driver=by.driver,
        vehicle=by.vehicle,
        status="released",
        ended_at=at + dt.timedelta(days=1),
        offered_at=at,
        responded_at=at,
        assigned_by="system",
        driver_name="Marek",
        vehicle_plate="CL00000",
    )


def write_trouble(ride: Ride, trouble: Trouble) -> RideException:
    exception = _exception(ride, trouble)
    exception.save()
    return exception


def _exception(ride: Ride, trouble: Trouble) -> RideException:
    opened_at = ride.pickup_at

    def moment(minutes: int | None) -> dt.datetime | None:
        return None if minutes is None else opened_at + dt.timedelta(minutes=minutes)

    settled = trouble.resolved is not None
    return RideException(
        ride=ride,
        rider=ride.rider,
        facility=ride.facility,
        type=trouble.type,
        severity=trouble.severity,
        status="resolved" if settled else "acknowledged" if trouble.acknowledged is not None else "open",
        opened_at=opened_at,
        opened_by="system",
        detected_by="test",
        acknowledged_at=moment(trouble.acknowledged),
        acknowledged_by="system" if trouble.acknowledged is not None else "",
        resolved_at=moment(trouble.resolved),
        resolution_code=trouble.code if settled else "",
        summary="",
        updated_at=opened_at,
    )
