"""Searches during typing among 100,000 riders and 1,000,000 rides: whole requests, with login and audit trail.

The booking form finds riders; the command palette finds riders, rides, drivers, vehicles and facilities.
"""

import random
import statistics
import time
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Final

import psycopg
from django.conf import settings
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.rides.models import Ride
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.bench import RUN, conninfo
from tests.bench.table import Figure

RIDERS: Final = 100_000
RIDES_OF_EACH: Final = 10
DRIVERS: Final = 300
SEARCHES: Final = 300  # of each kind in the booking form, by each of the two users
PALETTE_SEARCHES: Final = 100  # the same in the palette
FACILITIES: Final = 60
# 500 last names and 60 first names: two letters match thousands of riders, as in production.
_ONSETS: Final = """
    Wal Mar Hen Car Ros Pet Ber Ham Lin Gra Tho Wil And Mor Sul Ric Bro Dav Fer Nel
"""
_ENDINGS: Final = """
    sh ters son ton ski man ley den ger well by field ford wood den er ing s es ings more land kin ow is
"""
_FIRST: Final = """
    Ada Ben Cora Dan Eve Finn Grace Hugo Ida Jack Kate Liam Mia Noah Orla Paul Quinn Ruth Sam Tess Uma Vera
    Will Xena Yara Zoe Alma Bruno Clara Denis Elsa Frank Gina Henry Iris James Karen Lucas Maria Nina Oscar
    Petra Rosa Simon Tara Ursula Victor Wanda Yvonne Zara Agnes Boris Celia David Edith Felix Greta Harold
    Inez Julia
"""
_FILL: Final = """
    INSERT INTO riders_rider (id, first_name, last_name, preferred_name, date_of_birth, phones, sms_consent, email,
        language, interpreter_needed, contact_preference, saved_places, caregivers, preferred_driver_ids,
        excluded_driver_ids, driver_gender_preference, status, status_reason, verified, version, created_at, updated_at)
    SELECT gen_random_uuid(), (%(first)s::text[])[n %% 60 + 1],
        (%(onsets)s::text[])[n %% 20 + 1] || (%(endings)s::text[])[n / 20 %% 25 + 1], '',
        date '1930-01-01' + n %% 25000,
        jsonb_build_array(jsonb_build_object('number', '+1312' || (2000000 + n), 'ext', '', 'kind', 'mobile')),
        'unknown', '', 'en', false, 'voice', '[]', '[]', '{}', '{}', '', 'active', '', true, 1, now(), now()
    FROM generate_series(0, %(riders)s - 1) n;
    INSERT INTO organizations_externalid (id, subject_type, subject_id, system, value, type)
    SELECT gen_random_uuid(), 'rider', id, 'urn:epic:mrn', 'E' || (1000000 + row_number() OVER ()), 'mrn'
    FROM riders_rider;
    INSERT INTO riders_accommodationprofile (id, rider_id, number, current, recorded_at, recorded_by, mobility,
        return_mobility, assist_level, handoff_required, must_not_be_left_alone, provide_chair, oxygen_uses,
        oxygen_source, home_steps, stair_equipment, second_person, service_animal, child_seat, hearing, vision,
        cognition, speech, precautions, load_minutes, unload_minutes, equipment, driver_notes, dispatcher_notes)
    SELECT gen_random_uuid(), id, 1, true, now(), 'system', 'ambulatory', '', 'door_to_door', false, false, false,
        false, '', 0, 'none', false, false, false, 'none', 'none', 'none', 'none', 'none', 3, 3, '{}', '', ''
    FROM riders_rider;
    INSERT INTO riders_riderfacility (id, rider_id, facility_id)
    SELECT gen_random_uuid(), rider.id, place.id
    FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM riders_rider) rider
    JOIN (SELECT id, row_number() OVER (ORDER BY id) AS n FROM organizations_facility) place
        ON place.n = rider.n %% %(places)s + 1;
"""


# All rides are copies of one that exists; nobody searches for what they have in common.
_RIDES: Final = """
    ALTER TABLE rides_ride DISABLE TRIGGER ALL;
    INSERT INTO rides_ride
    SELECT made.*
    FROM rides_ride model
    CROSS JOIN (
        SELECT rider.id, place.facility_id, row_number() OVER (ORDER BY rider.id) AS n
        FROM riders_rider rider JOIN riders_riderfacility place ON place.rider_id = rider.id
    ) rider
    CROSS JOIN generate_series(0, %(each)s - 1) copy
    CROSS JOIN LATERAL (
        SELECT now() + (copy - 7) * interval '29 days' + rider.n %% 1440 * interval '1 minute' AS at
    ) due
    CROSS JOIN LATERAL jsonb_populate_record(model, jsonb_build_object(
        'id', gen_random_uuid(), 'rider_id', rider.id, 'facility_id', rider.facility_id, 'pickup_at', at,
        'window_starts_at', at - interval '15 minutes', 'window_ends_at', at + interval '15 minutes',
        'service_date', at::date, 'client_reference', 'ORD-' || rider.n * %(each)s + copy, 'next_check_at', null
    )) made;
    ALTER TABLE rides_ride ENABLE TRIGGER ALL;
"""


def answering(*, riders: int = RIDERS, searches: int = SEARCHES, palette: int = PALETTE_SEARCHES) -> list[Figure]:
    """Search as a dispatcher with all riders and as a planner of one facility; return the 95th percentiles."""
    _fill(riders)
    random.seed(1)
    clients = (_desk(UserRole.DISPATCHER), _desk(UserRole.PLANNER))
    form = _measure(clients, "/console/book/riders/", _searches(riders, searches))
    ends = [str(pk)[-8:] for pk in Ride.objects.values_list("pk", flat=True)[:palette]]
    everything = _measure(clients, "/console/find/", _palette_searches(riders, palette) | {"ends of ids": ends})
    count = Ride.objects.count()
    return [
        _worst("rider_search_p95", form, f"of {riders:,} riders"),
        _worst("search_p95", everything, f"of {riders:,} riders and {count:,} rides"),
    ]


def _measure(clients: Sequence[Client], address: str, kinds: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the 95th percentile of each kind of search, in milliseconds."""
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    for client in clients:
        for kind, texts in kinds.items():
            for text in texts:
                began = time.perf_counter()
                response = client.post(address, {"q": text})
                took[kind].append((time.perf_counter() - began) * 1000)
                if response.status_code != 200:
                    raise RuntimeError(f"A search was answered {response.status_code}.")
    return {kind: _percentile(times) for kind, times in took.items()}


def _worst(name: str, each: Mapping[str, float], among: str) -> Figure:
    made_of = ", ".join(f"{kind} {value:.0f} ms" for kind, value in each.items())
    return Figure(name, max(each.values()), f"{made_of} {among}")


def _palette_searches(riders: int, count: int) -> dict[str, list[str]]:
    kinds = _searches(riders, count)
    names = [
        f"{random.choice(_FIRST.split())} {random.choice(_ONSETS.split())}{random.choice(_ENDINGS.split())}"
        for _ in range(count)
    ]
    typos = []
    for name in names:
        first, last = name.split()
        at = random.randrange(1, len(last) - 1)
        typos.append(f"{last[:at]}{last[at + 1 :]} {first}")
    days = [(date(1930, 1, 1) + timedelta(days=random.randrange(25_000))).strftime("%m/%d/%Y") for _ in range(count)]
    return kinds | {
        "whole names": names,
        "typos": typos,
        "birth dates": days,
        "references": [f"ORD-{random.randrange(riders * RIDES_OF_EACH)}" for _ in range(count)],
        "plates": [f"CL{number % 300:05}" for number in range(count)],
        "facilities": [f"hospitl {number % FACILITIES:02}" for number in range(count)],
    }


def _percentile(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _searches(riders: int, count: int) -> dict[str, list[str]]:
    def last() -> str:
        return random.choice(_ONSETS.split()) + random.choice(_ENDINGS.split())  # names, not secrets

    def number() -> int:
        return random.randrange(riders)

    return {
        "two letters": [last()[:2] for _ in range(count)],
        "four letters": [last()[:4] for _ in range(count)],
        "two names": [f"{last()[:4]}, {random.choice(_FIRST.split())[:2]}" for _ in range(count)],
        "phones": [
            f"312 {(2_000_000 + number()) // 10_000} {(2_000_000 + number()) % 10_000:04}" for _ in range(count)
        ],
        "ids": [f"E{1_000_001 + number()}" for _ in range(count)],
        "nobody": [f"zq{last()[:3]}" for _ in range(count)],
    }


def _fill(riders: int) -> None:
    for number in range(FACILITIES):
        factories.FacilityFactory.create(name=f"Hospital {number:02}")
    for number in range(DRIVERS):
        last = random.choice(_ONSETS.split()) + random.choice(_ENDINGS.split())
        factories.DriverFactory.create(first_name=_FIRST.split()[number % 60], last_name=last)
        factories.VehicleFactory.create()
    factories.RideFactory.create()
    values: dict[str, object] = {"riders": riders, "places": FACILITIES}
    values |= {"first": _FIRST.split(), "onsets": _ONSETS.split(), "endings": _ENDINGS.split()}
    with psycopg.connect(conninfo(RUN), autocommit=True, cursor_factory=psycopg.ClientCursor) as session:
        session.execute(_FILL, values)
        session.execute("SET synchronous_commit = off")
        session.execute(_RIDES, {"each": RIDES_OF_EACH})
        session.execute("VACUUM ANALYZE")


def _desk(role: UserRole) -> Client:
    person: User = factories.UserFactory.create(role=role)
    person.facilities.add(*factories.FacilityFactory._meta.model.objects.order_by("name")[:1])
    client = Client(headers={"host": settings.ALLOWED_HOSTS[0]})
    sign_in(client, person)
    return client
