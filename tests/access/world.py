"""Test data of two sides: own (`a`) and other (`b`), which share an operator, a payer and one rider.

Rows are created without services: a row may contain whatever its columns allow, with a canary in each free text.
"""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from apps.accounts.models import ApiClient, ApiToken
from apps.accounts.rules.roles import TokenRole
from apps.events.models import Event
from apps.exports.models import Export, ReportSchedule
from apps.fleet.models import CapacityConfig, Credential, Driver, Leave, Vehicle, VehicleOutage
from apps.organizations.models import CalendarShift, ExternalId, Facility, HomeBase, Payer, TransportProvider
from apps.recurring.models import Hold, StandingOrder, Terms
from apps.riders.models import Rider
from apps.riders.rules import accommodation
from apps.rides.models import Assignment, Milestone, Ride, RideException, Trip
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import legs
from apps.webhooks.models import Attempt, Delivery, Endpoint, EndpointHealth, Job
from lib.ids import uuid7
from tests import factories
from tests.access.canaries import Canaries, Canary, CanaryKind
from tests.callers import TokenClient, api_with
from tests.exports import places
from tests.rides.rides_in import ride_in

ORDERED_FROM: Final = dt.date(2026, 11, 23)  # first day of the standing orders: a Monday
LONG_AGO: Final = 3  # transaction id that every feed has passed
# A ride not yet driven, one with a driver assigned, and one that has ended.
LIVES: Final = (RideStatus.SCHEDULED, RideStatus.ASSIGNED, RideStatus.COMPLETED)
# Kinds of the other side's rows that a caller bound to a facility, a provider, or both must not see.
HIDDEN: Final[dict[str, tuple[CanaryKind, ...]]] = {
    "facility": ("place", "person", "access"),
    "provider": ("person", "fleet", "access"),
    "both": ("place", "person", "fleet", "access"),
}


# Rows of the operator, the same for every permitted caller.
SHARED: Final = {"exports/destinations"}


@dataclass
class Side:
    """One facility, one provider, their riders and rides; `rows` by their API names."""

    canaries: Canaries
    rows: dict[str, list[Any]] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)  # codes by which riders can be searched

    def add(self, kind: str, row: Any) -> Any:
        self.rows.setdefault(kind, []).append(row)
        return row

    def first(self, kind: str) -> Any:
        return self.rows[kind][0]

    def id_of(self, kind: str) -> str:
        return str(self.first(kind).pk)

    def ids(self) -> set[str]:
        return {str(row.pk) for kind, rows in self.rows.items() if kind not in SHARED for row in rows}


@dataclass
class World:
    own: Side
    other: Side
    payer: Payer
    shared_rider: Rider

    def bound(self, binding: str, role: TokenRole = TokenRole.FULL_ACCESS, **columns: Any) -> TokenClient:
        """Return a caller of the own side, of the client that owns the own endpoints."""
        reach = {
            "client": self.own.first("clients"),
            "facility_ids": [self.own.first("facilities").pk] if binding in ("facility", "both") else None,
            "provider_ids": [self.own.first("providers").pk] if binding in ("provider", "both") else None,
        }
        return api_with(role, **(reach | columns))

    def hidden(self, binding: str) -> list[Canary]:
        return self.other.canaries.of(HIDDEN[binding])


def build() -> World:
    payer = factories.PayerFactory.create()
    shared = factories.RiderFactory.create(first_name="Shared", last_name="Rider")
    factories.AccommodationProfileFactory.create(rider=shared)
    own, other = (_side(mark, payer, shared) for mark in "ab")
    return World(own=own, other=other, payer=payer, shared_rider=shared)


def _side(mark: str, payer: Payer, shared: Rider) -> Side:
    side = Side(Canaries(mark))
    facility = _places(side)
    provider, driver, vehicle = _fleet(side)
    rider = _rider(side, facility)
    driver.excluded_rider_ids = [rider.pk]
    driver.save(update_fields=["excluded_rider_ids"])
    shared.facilities.add(facility)
    client: ApiClient = side.canaries.fill(factories.ApiClientFactory.create(), "access")
    side.add("clients", client)
    for number, status in enumerate(LIVES):
        pickup_at = factories.PICKUP + dt.timedelta(days=number)
        ride = ride_in(status, facility=facility, rider=rider, pickup_at=pickup_at)
        _settle(side, ride, payer, client, provider, driver, vehicle)
    will_call = ride_in(
        RideStatus.SCHEDULED,
        facility=facility,
        rider=shared,
        will_call=True,
        pickup_time_kind="estimated",
        will_call_expires_at=factories.PICKUP + dt.timedelta(days=1),
    )
    _settle(side, will_call, payer, client, provider, driver, vehicle)
    _exception_of_order(side, rider, facility)
    _standing_order(side, rider, facility, payer, driver)
    _offer(side, provider, driver, vehicle)
    _token(side, client, facility, provider)
    _webhooks(side, client, facility, provider)
    _export(side, client, facility, provider)
    return side


def _places(side: Side) -> Facility:
    fill = side.canaries.fill
    facility: Facility = side.add("facilities", fill(factories.FacilityFactory.create(), "place"))
    side.add("entrances", fill(factories.EntranceFactory.create(facility=facility), "place"))
    side.add("contacts", fill(factories.ContactFactory.create(facility=facility), "place"))
    moved = ORDERED_FROM + dt.timedelta(days=28)
    side.add("calendar-shifts", CalendarShift.objects.create(facility=facility, from_date=moved))
    _name(side, "facility", facility.pk, "place")
    return facility


def _fleet(side: Side) -> tuple[TransportProvider, Driver, Vehicle]:
    fill = side.canaries.fill
    provider = side.add("providers", fill(factories.TransportProviderFactory.create(), "fleet"))
    base = side.add("home-bases", fill(HomeBase(provider=provider, state="IL"), "fleet"))
    vehicle = factories.VehicleFactory.create(provider=provider, home_base=base)
    side.add("vehicles", fill(vehicle, "fleet"))
    fill(CapacityConfig.objects.get(vehicle=vehicle), "fleet")
    driver = factories.DriverFactory.create(provider=provider, home_base=base, default_vehicle=vehicle)
    driver.license_number = side.canaries.text("fleet", "driver.license_number")
    side.add("drivers", fill(driver, "fleet", employment="contractor"))
    period = {"starts_at": factories.NOW + dt.timedelta(days=90), "ends_at": factories.NOW + dt.timedelta(days=91)}
    fill(Leave(driver=driver, **period), "fleet")
    later = {"starts_at": factories.NOW + dt.timedelta(days=92), "ends_at": factories.NOW + dt.timedelta(days=93)}
    # Has the id of the driver, so that the walk can name it.
    fill(Leave(pk=driver.pk, driver=driver, absence="sick", reported_at=factories.NOW, **later), "fleet")
    outage = {"starts_at": factories.NOW, "ends_at": later["starts_at"], "reported_at": factories.NOW}
    # Has the id of the vehicle, for the same reason.
    fill(
        VehicleOutage(
            pk=vehicle.pk, vehicle=vehicle, reason="breakdown", undo={"status": "in_service", "shifts": []}, **outage
        ),
        "fleet",
    )
    factories.file_credentials(driver, vehicle)
    for credential in [*Credential.objects.filter(driver=driver), *Credential.objects.filter(vehicle=vehicle)]:
        side.add("credentials", fill(credential, "fleet"))
    side.add("shifts", factories.ShiftFactory.create(driver=driver, vehicle=vehicle))
    _name(side, "driver", driver.pk, "fleet")
    _name(side, "vehicle", vehicle.pk, "fleet")
    return provider, driver, vehicle


def _rider(side: Side, facility: Facility) -> Rider:
    new = side.canaries
    rider = factories.RiderFactory.create(facility=facility)
    side.codes = {code: new.text("person", f"rider.{code}") for code in ("medicaid_id", "member_id")}
    side.codes |= {
        "phone": new.phone("person", "rider.phones"),
        "date": new.day("person", "rider.date_of_birth").isoformat(),
    }
    rider.medicaid_id, rider.member_id = side.codes["medicaid_id"], side.codes["member_id"]
    new.fill(
        rider,
        "person",
        date_of_birth=dt.date.fromisoformat(side.codes["date"]),
        phones=[{"number": side.codes["phone"], "ext": new.text("person", "rider.phones.ext"), "kind": "mobile"}],
        home_address=new.stop("person", "rider.home_address"),
        saved_places=[new.stop("person", "rider.saved_places")],
        caregivers=[new.person("person", "rider.caregivers", "name", "phone", "relation") | {"notify": []}],
        emergency_contact=new.person("person", "rider.emergency_contact", "name", "phone", "relation"),
        preferred_driver_ids=[side.first("drivers").pk],
    )
    profile = factories.AccommodationProfileFactory.create(rider=rider)
    new.fill(profile, "person", equipment=[new.text("person", "accommodationprofile.equipment")])
    side.codes["external"] = _name(side, "rider", rider.pk, "person")
    side.add("profiles", profile)
    side.add("riders", rider)
    return rider


def _exception_of_order(side: Side, rider: Rider, facility: Facility) -> None:
    exception = RideException(
        standing_order_id=uuid7(),
        rider=rider,
        facility=facility,
        type=ExceptionType.HOLD_REVIEW,
        severity="warning",
        opened_at=factories.NOW,
        updated_at=factories.NOW,
    )
    side.add("ride-exceptions", side.canaries.fill(exception, "person"))


def _standing_order(side: Side, rider: Rider, facility: Facility, payer: Payer, driver: Driver) -> None:
    """Create an order for every Monday, with texts in every column, a hold, and later terms."""
    new, at = side.canaries, factories.NOW
    order = StandingOrder(
        rider=rider,
        facility=facility,
        timezone=facility.timezone,
        start_date=ORDERED_FROM,
        payer=payer,
        preferred_driver_ids=[driver.pk],
        version=1,
        created_at=at,
        updated_at=at,
    )
    side.add("standing-orders", new.fill(order, "person"))
    _name(side, "standing_order", order.pk, "person")
    for from_date in (ORDERED_FROM, ORDERED_FROM + dt.timedelta(days=28)):
        terms = Terms(
            standing_order=order,
            from_date=from_date,
            days_of_week=[0],
            anchor_date=ORDERED_FROM,
            chair_time=dt.time(10, 30),
            arrive_early_minutes=15,
            treatment_minutes=240,
            post_treatment_minutes=30,
            lead_minutes=60,
            pickup=new.stop("person", "terms.pickup", facilityId=str(facility.pk), entranceId=side.id_of("entrances")),
            dropoff=new.stop("person", "terms.dropoff"),
            return_dropoff=new.stop("person", "terms.return_dropoff"),
            accommodation=new.person("person", "terms.accommodation", "driverNotes", "dispatcherNotes"),
            companions={"escorts": 1},
        )
        for stop in ("pickup", "dropoff", "return_dropoff"):
            setattr(terms, f"{stop}_access", new.text("person", "terms.accessCode"))
        new.fill(terms, "person")
    hold = Hold(standing_order=order, from_date=ORDERED_FROM + dt.timedelta(days=60), reason="travel", set_at=at)
    new.fill(hold, "person")


def _settle(
    side: Side,
    ride: Ride,
    payer: Payer,
    client: ApiClient,
    provider: TransportProvider,
    driver: Driver,
    vehicle: Vehicle,
) -> None:
    """Fill every text column of a ride and its related rows, and assign the side's crew."""
    new = side.canaries
    trip = side.add("trips", Trip.objects.create(pk=ride.pk, rider=ride.rider, service_date=ride.service_date))
    doors = {key: new.text("person", f"ride.{key}") for key in ("accessCode", "keyInfo")}
    legs.seal_access(ride, pickup=doors, dropoff=doors)
    ride.payer_member_id = new.text("person", "ride.payer_member_id")
    crew = {"provider": provider, "driver": driver, "vehicle": vehicle} if ride.driver_id else {}
    place = {"facilityId": str(ride.facility_id), "entranceId": side.id_of("entrances")}
    shape = accommodation.snapshot(side.first("profiles"))
    texts = {key: new.text("person", f"ride.accommodation.{key}") for key in ("driverNotes", "dispatcherNotes")}
    new.fill(
        ride,
        "person",
        **crew,
        trip=trip,
        client=client,
        payer=payer,
        pickup=new.stop("person", "ride.pickup", **place),
        dropoff=new.stop("person", "ride.dropoff"),
        accommodation={**shape, **texts},
        discharge=new.person("person", "ride.discharge", "unit", "room", "unitPhone")
        | {"planner": new.person("person", "ride.discharge.planner", "name", "phone", "email")},
        dialysis={"chair": new.text("person", "ride.dialysis.chair")},
        requested_by=new.person("person", "ride.requested_by", "userId", "name", "phone", "role"),
        signatures=[
            {"signer": "rider", "stop": "pickup", "at": None} | new.person("person", "ride.signatures", "name")
        ],
        attestation={"at": None} | new.person("person", "ride.attestation", "driverName", "text"),
    )
    side.add("rides", ride)
    _name(side, "ride", ride.pk, "person")
    for row in Assignment.objects.filter(ride=ride):
        row.license_number = new.text("fleet", "assignment.license_number")
        side.add("assignments", new.fill(row, "fleet", **crew))
    for milestone in Milestone.objects.filter(ride=ride):
        side.add("milestones", new.fill(milestone, "person"))
    exception = RideException(
        ride=ride,
        trip=trip,
        rider=ride.rider,
        facility=ride.facility,
        type=ExceptionType.LATE_PICKUP,
        severity="warning",
        opened_at=factories.NOW,
        updated_at=factories.NOW,
    )
    side.add("ride-exceptions", new.fill(exception, "person"))
    Ride.objects.filter(pk=ride.pk).update(open_exception_count=1, max_exception_severity="warning")
    event = Event(
        transaction=LONG_AGO,
        type="ride.scheduled",
        subject_type="ride",
        subject_id=ride.pk,
        sequence=1,
        facility_id=ride.facility_id,
        provider_id=ride.provider_id,
        occurred_at=factories.NOW,
        actor=new.text("access", "event.actor"),
        data={"status": new.text("person", "event.data")},
    )
    event.save()
    side.add("events", event)


def _offer(side: Side, provider: TransportProvider, driver: Driver, vehicle: Vehicle) -> None:
    """Offer the side's driver its second ride, which has no driver yet."""
    ride = next(ride for ride in side.rows["rides"] if ride.status == RideStatus.SCHEDULED)
    offer = Assignment(
        ride=ride,
        provider=provider,
        driver=driver,
        vehicle=vehicle,
        status=Assignment.Status.OFFERED,
        offered_at=factories.NOW,
        respond_by=factories.NOW + dt.timedelta(days=30),
    )
    side.add("offers", side.canaries.fill(offer, "fleet"))


def _token(side: Side, client: ApiClient, facility: Facility, provider: TransportProvider) -> None:
    reach = {"facility_ids": [facility.pk], "provider_ids": [provider.pk]}
    token: ApiToken = api_with(TokenRole.AUDITOR, client=client, **reach).token
    side.add("tokens", side.canaries.fill(token, "access"))


def _webhooks(side: Side, client: ApiClient, facility: Facility, provider: TransportProvider) -> None:
    """Create an endpoint that receives whole rides, with a delivery whose response repeats the ride."""
    new, at = side.canaries, factories.NOW
    endpoint = Endpoint(
        client=client,
        event_types=["ride.*"],
        state=Endpoint.State.ACTIVE,
        state_changed_at=at,
        facility_ids=[facility.pk],
        provider_ids=[provider.pk],
        payload_level="full-resource",
        phi_agreed_at=at,
        api_version="2026-11-20",
        created_at=at,
        updated_at=at,
    )
    new.fill(endpoint, "access", url=f"https://{new.text('access', 'endpoint.url')}.example.org/")
    side.add("webhooks/endpoints", endpoint)
    EndpointHealth.objects.create(endpoint=endpoint)
    # An event with a provider: a ride without a driver belongs only to its facility.
    event = next(event for event in side.rows["events"] if event.provider_id)
    delivery = Delivery(
        endpoint=endpoint,
        event=event,
        event_type=event.type,
        subject_id=event.subject_id,
        subject_sequence=1,
        due_at=at,
        expires_at=at,
        created_at=at,
        body_level="full-resource",
    )
    rider = Ride.objects.get(pk=event.subject_id).rider_id
    delivery.body_text = f'{{"riderId":"{rider}","name":"{new.text("person", "delivery.body")}"}}'
    delivery.save(force_insert=True)
    side.add("webhooks/deliveries", delivery)
    Attempt.objects.create(
        delivery=delivery,
        endpoint_id=endpoint.pk,
        number=1,
        started_at=at,
        duration_ms=41,
        code=500,
        response_snippet=new.text("person", "attempt.response_snippet"),
    )
    params = {"since": "2026-11-19T06:00:00Z", "until": "2026-11-20T06:00:00Z", "statuses": ["held"], "types": None}
    job = Job(endpoint=endpoint, params=params, total=1, created_at=at, updated_at=at)
    side.add("webhooks/jobs", new.fill(job, "access"))


def _export(side: Side, client: ApiClient, facility: Facility, provider: TransportProvider) -> None:
    """Create an export of the client whose file is ready."""
    export = Export.objects.create(
        dataset="rides",
        dataset_version=1,
        format="csv",
        columns=["rideId"],
        state=Export.State.READY,
        client=client,
        facility_ids=[facility.pk],
        provider_ids=[provider.pk],
        sha256="0" * 64,
        created_at=factories.NOW,
        expires_at=factories.NOW + dt.timedelta(days=1),
    )
    side.add("exports", export)
    schedule = ReportSchedule.objects.create(
        kind="export",
        name=side.canaries.text("access", "schedule.name"),
        client=client,
        facility_ids=[facility.pk],
        provider_ids=[provider.pk],
        dataset="completions",
        format="csv",
        covers="previous_day",
        every="day",
        at_time=dt.time(6),
        zone="America/Chicago",
        way="mail",
        next_at=factories.NOW + dt.timedelta(days=1),
        begun_at=factories.NOW,
        created_at=factories.NOW,
        updated_at=factories.NOW,
    )
    side.add("exports/schedules", schedule)
    side.add("exports/destinations", places.server(name=f"Drop box {uuid7()}"))


def _name(side: Side, subject_type: str, subject_id: UUID, kind: CanaryKind) -> str:
    row = ExternalId(subject_type=subject_type, subject_id=subject_id)
    side.add("external-ids", side.canaries.fill(row, kind))
    return f"{row.system}|{row.value}"


def reached(binding: str, row: Any) -> bool:
    """True if a caller of the own side with this binding reaches the row: a provider its assigned or offered rides."""
    if binding == "facility":
        return True
    if isinstance(row, Rider):
        return False  # visible to facilities; a provider sees riders on its rides
    if isinstance(row, StandingOrder | CalendarShift):
        return False  # not visible to providers
    if isinstance(row, RideException) and row.ride is None:
        return False  # a provider sees the rides of a standing order, not the order
    if isinstance(row, Ride) and row.assignments.filter(status="offered").exists():
        return True
    about = row.ride if isinstance(row, RideException) else row.rides.get() if isinstance(row, Trip) else row
    return getattr(about, "provider_id", True) is not None


def absent() -> str:
    return str(uuid7())
