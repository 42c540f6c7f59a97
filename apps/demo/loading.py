"""Loading of the whole demo, in one transaction."""

import datetime as dt
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection, transaction

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.services import audit
from apps.demo import accounts, credentials, demand, fleet, live, people, places, roads, scenes
from apps.demo.dice import CHICAGO, HOUR, Dice, wall
from apps.demo.fleet import DemoDuty
from apps.demo.legs import DemoLeg
from apps.demo.models import Simulation
from apps.demo.roads import RoutePlan, able, duties_at
from apps.demo.story import Cast, Tables
from apps.events import services as events
from apps.events.models import Event
from apps.organizations.models import ExternalId
from apps.rides.models import Assignment, Milestone, Ride, RideException, Trip
from lib.access import Principal
from lib.db.bulk_copy import copy_rows

PAST_DAYS: Final = 21
FUTURE_DAYS: Final = 7
SHIFT_DAYS: Final = 28  # the days for which standing orders have rides
SEED: Final = 60601


@dataclass(frozen=True, slots=True)
class DayRange:
    """Days before and after today that get rides; `shifts`: days after today on which drivers have shifts."""

    past: int = PAST_DAYS
    future: int = FUTURE_DAYS
    shifts: int = SHIFT_DAYS


def is_loaded() -> bool:
    return User.objects.filter(email=accounts.email_of(UserRole.ADMIN)).exists()


def ensure(
    *,
    by: Principal,
    at: dt.datetime,
    span: DayRange = DayRange(),
    also: Callable[[dt.datetime, Principal], None] | None = None,
) -> dict[str, Any]:
    """Load the demo and set up its accounts unless this is done already; return the token and the logins.

    The caller has checked that the database is the embedded one.  Idempotent: the clear text is read from var/; if it
    is lost, the accounts get a new password and there is a new token.  `also` loads the data of higher-level apps in
    the same transaction.
    """
    if not is_loaded():
        accounts.delete_facts()
        load(at, by=by, span=span, also=also)
    facts = accounts.load_facts()
    if facts is None:
        facts = accounts.enable_sign_in(by=by, at=at)
        accounts.save_facts(facts)
    return facts


def load(
    now: dt.datetime,
    seed: int = SEED,
    *,
    by: Principal,
    span: DayRange = DayRange(),
    also: Callable[[dt.datetime, Principal], None] | None = None,
) -> Counter[str]:
    """Write the demo as of `now`; return the number of rows by table.

    The same instant and seed produce the same rows.  The caller has checked that the database is the embedded one.  All
    rows are built first and written in one transaction of some seconds, so that no reader sees a part of them.
    """
    with _without_collector(), transaction.atomic():
        counts = _load(now, seed, by, span)
        if also is not None:
            also(now, by)
    _analyze()
    return counts


def _load(now: dt.datetime, seed: int, by: Principal, span: DayRange) -> Counter[str]:
    second = int(now.timestamp())
    today = now.astimezone(CHICAGO).date()
    start = wall(today - dt.timedelta(days=span.past + 30), 9 * 60)
    days = [today + dt.timedelta(days=count) for count in range(-span.past - 1, span.future + 2)]
    _raise_timeouts()
    actors = accounts.make_actors(seed, start)
    sites = places.make(seed, start)
    places.add_holiday(seed, sites, today, start)
    vehicles = fleet.make(seed, start, days, today, sites)
    credentials.make(seed, start, days, today, vehicles)
    fleet.plan_duties(seed, days, vehicles)
    riders = people.make(seed, start, today, sites)
    later = [today + dt.timedelta(days=count) for count in range(span.future + 2, span.shifts + 1)]
    fleet.write_shifts(seed, second, later, vehicles)
    legs, plan = _simulate(seed, second, days[1:-1], vehicles, riders, sites)
    cast = Cast(
        now=second,
        fleet=vehicles,
        payers=sites.payers,
        ehr=f"token:{actors.ehr_token}",
        ehr_client=actors.ehr_client,
        driver_app=f"token:{actors.driver_app_token}",
        dispatcher=f"user:{actors.people[UserRole.DISPATCHER]}",
        dispatcher_id=actors.people[UserRole.DISPATCHER],
        supervisor=f"user:{actors.people[UserRole.DISPATCH_SUPERVISOR]}",
    )
    counts = _write(_write_rides(seed, legs, plan, cast))
    Simulation.objects.create(seed=seed, played_until=now)
    audit.record(by=by, action="demo.load", details=dict(counts))
    return counts


@contextmanager
def _without_collector() -> Iterator[None]:
    """Disable garbage collection, which would scan half a million new rows for cycles repeatedly."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _raise_timeouts() -> None:
    """Raise the timeouts of this transaction above those of a request, for its deferred foreign key checks too."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '120s'")
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '120s'")


def _analyze() -> None:
    """Analyze the tables, so that the query planner has statistics before the first page is read."""
    # Only Carelane's tables: other databases on the server may hold locks on shared tables.
    tables = map(connection.ops.quote_name, connection.introspection.django_table_names(only_existing=True))
    with transaction.atomic(), connection.cursor() as cursor:
        _raise_timeouts()
        cursor.execute(f"ANALYZE {', '.join(tables)}")


def _simulate(
    seed: int, now: int, days: list[dt.date], vehicles: fleet.Fleet, riders: list[people.Person], sites: places.Places
) -> tuple[list[DemoLeg], RoutePlan]:
    """Simulate all days, up to the last planned one."""
    demand_by_day: dict[object, demand.DayDemand] = {day: demand.of_day(seed, day, riders, sites) for day in days}
    plan = RoutePlan(seed, vehicles)
    live_legs = live.stage(plan, now, demand_by_day, riders, sites)
    roads.drive(plan, [run for day in demand_by_day.values() for run in day.runs])
    return [*(leg for day in demand_by_day.values() for leg in day.legs), *live_legs], plan


def _write_rides(seed: int, legs: list[DemoLeg], plan: RoutePlan, cast: Cast) -> Tables:
    tables = Tables()

    def stand_in(leg: DemoLeg, dice: Dice) -> DemoDuty | None:
        fitting = [
            duty
            for duty in duties_at(plan, leg.due_at)
            if duty.starts <= leg.due_at < duty.ends - HOUR and able(plan, leg, duty)
        ]
        return dice.choice(fitting) if fitting else None

    for leg in sorted(legs, key=lambda leg: (leg.boarded or leg.pickup_at, leg.key)):
        _trip(seed, leg, cast, tables)
        scenes.write_ride(seed, leg, cast, tables, stand_in)
    return tables


def _trip(seed: int, leg: DemoLeg, cast: Cast, tables: Tables) -> None:
    """Write the trip of a round-trip journey, with the first of its legs."""
    journey = leg.journey
    if len(journey.legs) < 2 or journey.id or leg.requested_at > cast.now:
        return
    journey.id = Dice(seed, "trip", leg.key).id_at(leg.requested_at)
    tables.trips.append(
        {"id": journey.id, "rider_id": leg.person.id, "service_date": leg.day, "created_at": leg.requested_at}
    )


def _write(tables: Tables) -> Counter[str]:
    counts: Counter[str] = Counter()
    rows: list[tuple[Any, list[dict[str, Any]]]] = [
        (Trip, tables.trips),
        (Ride, tables.rides),
        (Assignment, tables.assignments),
        (Milestone, tables.milestones),
        (RideException, tables.exceptions),
        (ExternalId, tables.external_ids),
        # In the order of recording, which is the order of the feed.
        (Event, sorted(tables.events, key=lambda row: row["id"])),
    ]
    for model, records in rows:
        counts[model._meta.db_table] = copy_rows(model, records)
    events.clear_outbox()  # the first endpoint that is registered must not receive the whole history
    return counts
