"""Exceptions: opened once, raised, claimed by one user, resolved with a code."""

import pytest

from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import exceptions
from lib.access import Principal
from lib.errors import InvalidInput, NotFound, ScopeMissing, StaleVersion
from tests import factories
from tests.factories import NOW
from tests.rides.rides_in import ride_in


@pytest.fixture
def ride(db: None) -> Ride:
    return ride_in(RideStatus.ASSIGNED)


@pytest.fixture
def late(ride: Ride, dispatcher: Principal) -> RideException:
    return exceptions.open_exception(ride, ExceptionType.LATE_PICKUP, by=dispatcher, at=NOW, detected_by="test")


def test_second_opening_of_a_type_is_the_first_one(late: RideException, ride: Ride, dispatcher: Principal) -> None:
    again = exceptions.open_exception(ride, ExceptionType.LATE_PICKUP, by=dispatcher, at=NOW, detected_by="test")

    assert again.pk == late.pk
    assert Event.objects.filter(subject_id=ride.pk).count() == 1


def test_worse_opening_sharpens_the_first_one(late: RideException, ride: Ride, dispatcher: Principal) -> None:
    exceptions.open_exception(
        ride,
        ExceptionType.LATE_PICKUP,
        severity=ExceptionSeverity.CRITICAL,
        by=dispatcher,
        at=NOW,
        detected_by="test",
    )

    late.refresh_from_db()
    ride.refresh_from_db()
    assert (late.severity, late.version) == ("critical", 2)
    assert (ride.open_exception_count, ride.max_exception_severity, ride.version) == (1, "critical", 3)


def test_info_exception_is_noted_until_its_severity_rises(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.SCHEDULED)
    for severity in (ExceptionSeverity.INFO, ExceptionSeverity.WARNING, ExceptionSeverity.CRITICAL):
        exceptions.open_exception(
            ride,
            ExceptionType.UNASSIGNED_AT_RISK,
            severity=severity,
            by=dispatcher,
            at=NOW,
            detected_by="test",
        )

    told = Event.objects.filter(subject_id=ride.pk).order_by("sequence")
    assert [(event.type, event.data["exception"]["severity"]) for event in told] == [
        ("ride.exception_noted", "info"),
        ("ride.exception", "warning"),
        ("ride.exception", "critical"),
    ]


def test_claim_has_an_owner_and_is_refused_to_the_next(late: RideException, dispatcher: Principal) -> None:
    exceptions.acknowledge(exception_id=late.pk, by=dispatcher, at=NOW)
    exceptions.acknowledge(exception_id=late.pk, by=dispatcher, at=NOW)

    with pytest.raises(exceptions.AlreadyClaimed):
        exceptions.acknowledge(exception_id=late.pk, by=factories.principal(), at=NOW)

    late.refresh_from_db()
    assert (late.status, late.acknowledged_by, late.owner_id) == ("acknowledged", dispatcher.actor, dispatcher.id)


def test_resolution_closes_and_counts_down(late: RideException, ride: Ride, dispatcher: Principal) -> None:
    exceptions.resolve(exception_id=late.pk, code=ResolutionCode.RECOVERED_LATE, by=dispatcher, at=NOW)

    late.refresh_from_db()
    ride.refresh_from_db()
    assert (late.status, late.resolution_code) == ("resolved", "recovered_late")
    assert (ride.open_exception_count, ride.max_exception_severity) == (0, "")
    with pytest.raises(exceptions.AlreadySettled):
        exceptions.resolve(exception_id=late.pk, code=ResolutionCode.FALSE_ALARM, by=dispatcher, at=NOW)


def test_other_needs_a_note(late: RideException, dispatcher: Principal) -> None:
    with pytest.raises(InvalidInput):
        exceptions.resolve(exception_id=late.pk, code=ResolutionCode.OTHER, by=dispatcher, at=NOW)

    assert RideException.objects.get(pk=late.pk).status == "open"


def test_stale_copy_cannot_resolve(late: RideException, dispatcher: Principal) -> None:
    with pytest.raises(StaleVersion):
        exceptions.resolve(
            exception_id=late.pk, code=ResolutionCode.OTHER, note="x", expected_version=9, by=dispatcher, at=NOW
        )

    assert RideException.objects.get(pk=late.pk).status == "open"


def test_outsider_and_auditor_cannot_work_on_it(late: RideException, outsider: Principal) -> None:
    with pytest.raises(NotFound):
        exceptions.acknowledge(exception_id=late.pk, by=outsider, at=NOW)
    with pytest.raises(ScopeMissing):
        exceptions.acknowledge(exception_id=late.pk, by=factories.principal(UserRole.AUDITOR), at=NOW)

    assert RideException.objects.get(pk=late.pk).status == "open"


def test_settling_closes_every_type_named(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED)
    exceptions.open_exception(ride, ExceptionType.RIDER_NOT_READY, by=dispatcher, at=NOW, detected_by="test")
    exceptions.open_exception(ride, ExceptionType.ACCIDENT, by=dispatcher, at=NOW, detected_by="test")

    settled = exceptions.settle(ride, set(ExceptionType), by=dispatcher, at=NOW, code=ResolutionCode.RECOVERED_ON_TIME)

    assert len(settled) == 2
    assert Ride.objects.get(pk=ride.pk).open_exception_count == 0
