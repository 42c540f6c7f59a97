"""Over random days and random present moments: nothing predicted is in the past, and offers hold.

A candidate without a conflict and every suggestion are assigned by the real service, on rows of a real database.
"""

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from apps.dispatch.queries.board import board
from apps.dispatch.queries.suggestions import preview
from apps.dispatch.rules import suggesting
from apps.dispatch.rules.axis import Axis, service_day
from apps.dispatch.services import planning
from apps.dispatch.services.planning import Accepted, Chosen
from apps.fleet.models import Driver, Leave, Shift, Vehicle
from apps.organizations.models import HomeBase
from apps.riders.models import Rider
from apps.riders.rules.accommodation import complete
from apps.rides.models import Ride
from apps.rides.queries import candidates as ranked
from apps.rides.queries.driver_timelines import drivers_on_duty
from apps.rides.rules import driver_timeline
from apps.rides.rules.driver_timeline import Phase as RidePhase
from apps.rides.rules.driver_timeline import predict
from apps.rides.rules.lifecycle import WITH_DRIVER, RideStatus
from apps.rides.services.eligibility_checks import AssignmentRejected
from lib.access import Principal, system
from tests import factories
from tests.factories import NOW
from tests.fleet.crew import fit_pair
from tests.tiers import sized

pytestmark = pytest.mark.untraced

ZONE: Final = "America/Chicago"
MINUTE: Final = dt.timedelta(minutes=1)
PLACES: Final = ((41.8809, -87.6338), (41.8805, -87.6722), (41.7850, -87.6722), (41.9786, -87.9048), (None, None))
NEEDS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"mobility": "wheelchair", "loadMinutes": 6, "unloadMinutes": 4},
    {"mobility": "wheelchair_transfer", "stairs": {"home": 7, "equipment": "none"}},
    {"mobility": "ambulatory", "loadMinutes": 3, "unloadMinutes": 3},
)
UNDERWAY: Final = (RideStatus.EN_ROUTE, RideStatus.ARRIVED, RideStatus.IN_PROGRESS)


@dataclass(frozen=True)
class RidePlan:
    """A ride: minutes from NOW to its pickup, its length as planned, and how long ago its last milestone was."""

    starts: int
    minutes: int | None
    places: tuple[int, int]
    needs: int
    status: RideStatus
    driver: int
    reported_ago: int
    will_call: bool
    released: bool
    eta: int | None
    life_sustaining: bool


@dataclass(frozen=True)
class DriverPlan:
    """A driver: shifts and leave in minutes from NOW, and what is known of the location."""

    shifts: tuple[tuple[int, int], ...]
    leave: tuple[int, int] | None
    place: int
    position_ago: int | None
    has_base: bool


@dataclass(frozen=True)
class Day:
    """A day; `rotated`: in shifts each driver has the default vehicle of the next one."""

    at: int
    rotated: bool
    drivers: tuple[DriverPlan, ...]
    rides: tuple[RidePlan, ...]


_STATUSES: Final = st.sampled_from([*[RideStatus.SCHEDULED] * 5, *[RideStatus.ASSIGNED] * 4, RideStatus.COMPLETED])
_PLANS: Final = st.builds(
    RidePlan,
    starts=st.integers(-200, 420),
    minutes=st.sampled_from([None, 5, 20, 45, 90]),
    places=st.tuples(*[st.integers(0, len(PLACES) - 1)] * 2),
    needs=st.sampled_from([0, *range(len(NEEDS))]),
    status=st.one_of(_STATUSES, _STATUSES, st.sampled_from(UNDERWAY)),
    driver=st.integers(0, 2),
    reported_ago=st.integers(0, 40),
    will_call=st.booleans(),
    released=st.booleans(),
    eta=st.none() | st.integers(-30, 60),
    life_sustaining=st.booleans(),
)
_SHIFTS: Final = st.tuples(st.integers(-300, 200), st.integers(60, 600)).map(lambda pair: (pair[0], sum(pair)))
_LEAVE: Final = st.tuples(st.integers(-60, 300), st.integers(10, 120)).map(lambda pair: (pair[0], sum(pair)))
_DRIVERS: Final = st.builds(
    DriverPlan,
    shifts=st.one_of(st.just(()), st.tuples(_SHIFTS), st.just(((-240, 600),))),
    leave=st.one_of(st.none(), st.none(), _LEAVE),
    place=st.integers(0, len(PLACES) - 1),
    position_ago=st.none() | st.integers(0, 10),
    has_base=st.booleans(),
)
DAYS: Final = st.builds(
    Day,
    at=st.integers(-120, 300),
    rotated=st.booleans(),
    drivers=st.tuples(_DRIVERS, _DRIVERS, _DRIVERS),
    rides=st.lists(_PLANS, min_size=2, max_size=9).map(tuple),
)


@contextmanager
def undone() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


class World:
    """Three crews of one provider and riders; the rows of a day are written and rolled back."""

    def __init__(self) -> None:
        self.by: Principal = system("property-test")
        first, vehicle = fit_pair()
        self.crews: list[tuple[Driver, Vehicle]] = [(first, vehicle)]
        self.crews += [fit_pair(provider=first.provider) for _ in range(2)]
        self.hospital = factories.FacilityFactory.create()
        self.riders = [factories.RiderFactory.create() for _ in range(3)]
        for rider, language, gender in zip(self.riders, ("en", "pl", "en"), ("", "", "female"), strict=True):
            Rider.objects.filter(pk=rider.pk).update(language=language, driver_gender_preference=gender)

    @contextmanager
    def day(self, plan: Day) -> Iterator[dt.datetime]:
        """Write the rows of a day, and roll them back afterwards; the value is its present moment."""
        at = NOW + plan.at * MINUTE
        with undone():
            for number, driver in enumerate(plan.drivers):
                self._driver(number, driver, at, self.crews[(number + plan.rotated) % 3][1])
            for number, ride in enumerate(plan.rides):
                self._ride(number, ride, at)
            yield at

    def _driver(self, number: int, plan: DriverPlan, at: dt.datetime, vehicle: Vehicle) -> None:
        driver, _default = self.crews[number]
        for start, end in plan.shifts:
            Shift.objects.create(
                provider=driver.provider,
                driver=driver,
                vehicle=vehicle,
                starts_at=NOW + start * MINUTE,
                ends_at=NOW + end * MINUTE,
            )
        if plan.leave is not None:
            start, end = plan.leave
            Leave.objects.create(driver=driver, starts_at=NOW + start * MINUTE, ends_at=NOW + end * MINUTE)
        lat, lng = PLACES[plan.place]
        columns: dict[str, Any] = {"languages": ["en", "pl"] if number else ["en"]}
        if plan.has_base:
            columns["home_base"] = HomeBase.objects.create(
                provider=driver.provider, name=f"Yard {number}", lat=lat, lng=lng
            )
        if plan.position_ago is not None and lat is not None:
            columns |= {"last_lat": lat, "last_lng": lng, "last_located_at": at - plan.position_ago * MINUTE}
        Driver.objects.filter(pk=driver.pk).update(**columns)

    def _ride(self, number: int, plan: RidePlan, at: dt.datetime) -> None:
        pickup_at = NOW + plan.starts * MINUTE
        pickup, dropoff = (dict(zip(("lat", "lng"), PLACES[place], strict=True)) for place in plan.places)
        accommodation = complete(NEEDS[plan.needs])
        in_chair = NEEDS[plan.needs].get("mobility") == "wheelchair"
        columns: dict[str, Any] = {"promised_pickup_by": pickup_at + 15 * MINUTE}
        if plan.will_call:
            columns = {
                "will_call": True,
                "pickup_time_kind": "estimated",
                "will_call_expires_at": pickup_at + dt.timedelta(hours=12),
            }
            if plan.released or plan.status not in {RideStatus.SCHEDULED, RideStatus.ASSIGNED}:
                ready_at = min(pickup_at, at)
                columns |= {"ready_at": ready_at, "ready_source": "phone", "promised_pickup_by": ready_at + 60 * MINUTE}
        ride = factories.RideFactory.create(
            facility=self.hospital,
            rider=self.riders[number % 3],
            pickup_at=pickup_at,
            estimated_minutes=plan.minutes,
            pickup=factories.stop(**pickup),
            dropoff=factories.stop(**dropoff),
            accommodation=accommodation,
            spaces_ambulatory=0 if in_chair else 1,
            spaces_wheelchair=1 if in_chair else 0,
            priority="life_sustaining" if plan.life_sustaining else "routine",
            **columns,
        )
        if plan.status is not RideStatus.SCHEDULED:
            driver, vehicle = self.crews[plan.driver]
            factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
            Ride.objects.filter(pk=ride.pk).update(**_reached(plan, at))


def _reached(plan: RidePlan, at: dt.datetime) -> dict[str, Any]:
    """Return the columns of a ride that has come so far; the milestone before took ten minutes less."""
    reached_at = at - plan.reported_ago * MINUTE
    moments = {
        RideStatus.ASSIGNED: (),
        RideStatus.EN_ROUTE: ("departed_at",),
        RideStatus.ARRIVED: ("arrived_pickup_at", "departed_at"),
        RideStatus.IN_PROGRESS: ("boarded_at", "arrived_pickup_at", "departed_at"),
        RideStatus.COMPLETED: ("dropped_off_at", "boarded_at", "arrived_pickup_at", "departed_at"),
    }[plan.status]
    columns: dict[str, Any] = {name: reached_at - back * 10 * MINUTE for back, name in enumerate(moments)}
    if plan.status is RideStatus.COMPLETED:
        columns["status_before_end"] = RideStatus.IN_PROGRESS
    if plan.eta is not None and plan.status in {RideStatus.ASSIGNED, RideStatus.EN_ROUTE}:
        columns["eta_pickup_at"] = at + plan.eta * MINUTE
    return columns | {"status": plan.status}


def check_candidates(world: World, at: dt.datetime) -> int:
    """Assign every candidate who is offered without a conflict; return how many there were."""
    offered = 0
    for ride in Ride.objects.filter(status__in=sorted({*WITH_DRIVER, RideStatus.SCHEDULED} - {RideStatus.IN_PROGRESS})):
        for candidate in ranked.candidates(ride_id=ride.pk, by=world.by, at=at):
            for moment in (candidate.available_at, candidate.predicted_pickup_at):
                assert moment is None or moment >= at
            for reason in candidate.reasons:
                until = reason.parameters.get("until")
                assert until is None or dt.datetime.fromisoformat(str(until)) >= at
            if candidate.predicted_pickup_at is not None and candidate.available_at is not None:
                assert candidate.predicted_pickup_at >= candidate.available_at
            if candidate.violations or candidate.attendant_required:
                continue
            offered += 1
            with undone():
                # A dispatcher assigns by driver; the vehicle is that of the candidate.
                assigned = planning.assign(
                    chosen=Chosen(ride.pk, ride.version), driver_id=candidate.driver_id, by=world.by, at=at
                )
                assert assigned.vehicle_id == candidate.vehicle_id
    return offered


def check_suggestions(world: World, at: dt.datetime) -> int:
    """Accept every suggestion; return how many there were."""
    accepted = 0
    for axis in {Axis(service_day(moment, ZONE), ZONE) for moment in (NOW, at)}:
        found = preview(axis, by=world.by, at=at)
        with undone():
            results = planning.accept_all(
                suggestions=[
                    Accepted(
                        Chosen(suggestion.ride_id, found.rides[suggestion.ride_id].version),
                        suggestion.driver_id,
                        suggestion.vehicle_id,
                    )
                    for suggestion in found.plan.suggestions
                ],
                by=world.by,
                at=at,
            )
            refused = [result.refusal for result in results if result.refusal is not None]
            if refused:
                raise refused[0]
            # The day with all of them is predicted from now, too.
            check_predictions(world, at)
        accepted += len(results)
    return accepted


def check_predictions(world: World, at: dt.datetime) -> None:
    """Compare what the board and the other pages predict with the present, and along each driver's rides."""
    present = drivers_on_duty(Driver.objects.select_related("home_base"), at=at, until=at + dt.timedelta(hours=24))
    for driver in present.values():
        timeline = predict(driver, at=at)
        predicted = {ride.ride_id: ride for ride in timeline.rides}
        for ride in timeline.rides:
            moments = [ride.pickup_at, ride.earliest_pickup_at, ride.dropoff_at]
            known = [moment for moment in moments if moment is not None]
            assert all(moment >= at for moment in known)
            assert known == sorted(known)
        assert timeline.available_at is None or timeline.available_at >= max(
            (ride.dropoff_at for ride in timeline.rides if ride.dropoff_at is not None), default=at
        )
        underway = [ride.planned for ride in driver.rides if ride.phase is not RidePhase.AHEAD]
        ahead = [ride for ride in driver.rides if ride.phase is RidePhase.AHEAD]
        alone = [ride for ride in ahead if not any(ride.planned.overlaps(planned) for planned in underway)]
        for first in alone:
            for second in alone:
                if first.planned.ends_at <= second.planned.starts_at:
                    dropoff_at = predicted[first.slot.ride_id].dropoff_at
                    pickup_at = predicted[second.slot.ride_id].earliest_pickup_at
                    assert dropoff_at is None or pickup_at is None or dropoff_at <= pickup_at
    for row in board(Axis(service_day(at, ZONE), ZONE), by=world.by, at=at).rows:
        assert all(ride.predicted_end_at is None or ride.predicted_end_at >= at for ride in row.rides)


def check(world: World, day: Day) -> tuple[int, int]:
    with world.day(day) as at:
        check_predictions(world, at)
        return check_candidates(world, at), check_suggestions(world, at)


def over_days(world: World, *, examples: int) -> tuple[int, int]:
    """Check that many days; return how many candidates and suggestions were assigned."""
    assigned: list[tuple[int, int]] = []

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck), phases=[Phase.generate], database=None)
    @given(DAYS)
    def lead(day: Day) -> None:
        assigned.append(check(world, day))

    lead()
    return sum(offered for offered, _ in assigned), sum(accepted for _, accepted in assigned)


@pytest.mark.django_db
def test_offers_hold_and_nothing_predicted_is_past() -> None:
    examples = sized(25, 1000)

    offered, accepted = over_days(World(), examples=examples)

    assert offered > examples
    assert accepted > examples / 2


@pytest.mark.django_db
def test_walk_from_the_planned_start_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: a driver who has not left yet is predicted from the plan in place of the present moment."""
    start: Callable[..., None] = driver_timeline._Walk.__init__

    def planned(walk: driver_timeline._Walk, driver: driver_timeline.DriverNow, at: dt.datetime) -> None:
        start(walk, driver, min([at, *(ride.planned.starts_at for ride in driver.rides)]))

    monkeypatch.setattr(driver_timeline._Walk, "__init__", planned)

    with pytest.raises(AssertionError):
        over_days(World(), examples=40)


@pytest.mark.django_db
@pytest.mark.parametrize("module", [ranked, suggesting])
def test_ranking_without_conflicts_is_found_out(module: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: drivers are offered without the checks of the service."""
    monkeypatch.setattr(module, "violations", lambda *_: [])

    with pytest.raises(AssignmentRejected):
        over_days(World(), examples=40)
