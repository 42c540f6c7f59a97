"""Rollups and their lists of rides count the rides that `Ride.objects.visible_to` defines, for every role."""

import datetime as dt
from collections import Counter
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.accounts.rules.roles import TokenRole, UserRole
from apps.events.models import EventQuerySet
from apps.organizations.models import Facility, TransportProvider
from apps.reporting.queries.drill_down import rides_behind
from apps.reporting.queries.selection import Selection, select
from apps.reporting.queries.sums import sums
from apps.reporting.services import rollups
from apps.rides.models import Ride
from lib.access import Phi, Principal, system
from tests import factories
from tests.factories import NOW
from tests.reporting import legs, ride_changes

DRIVEN = legs.Leg(day=3, arrived=0, boarded=5, dropped=30)
STATUSES = ("completed", "scheduled")
UNASSIGNED = legs.Leg(day=3, status="scheduled", accepted=None)
SCOPES = [
    {},
    {"facilities": 1},
    {"providers": 1},
    {"facilities": 2, "providers": 1},
    {"facilities": 0},
    {"providers": 0},
]


@pytest.fixture
def owners(db: None, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Facility], list[TransportProvider]]:
    """Return two facilities and two providers with rides of each pair, and rides without one of them."""
    monkeypatch.setattr(EventQuerySet, "settled", lambda events: events)  # although the test has not committed
    facilities, providers = (
        factories.FacilityFactory.create_batch(2),
        factories.TransportProviderFactory.create_batch(2),
    )
    cast = legs.cast()
    for number, (facility, provider) in enumerate(product((*facilities, None), (*providers, None))):
        for ride in legs.write_all([DRIVEN if provider else UNASSIGNED] * (number + 1), cast):
            ride.facility, ride.provider = facility, provider
            ride_changes.tell(ride, "ride.completed")
    rollups.refresh(by=system(), at=NOW)
    return facilities, providers


def _principals(**ids: Any) -> list[Principal]:
    users = [Principal(kind="user", id=uuid4(), role=role.value, scopes=frozenset(), **ids) for role in UserRole]
    tokens = [Principal(kind="token", id=uuid4(), role=role.value, scopes=frozenset(), **ids) for role in TokenRole]
    return users + tokens


def _counted_by_rollups(selection: Selection) -> Counter[Any]:
    rows = sums(selection, STATUSES, by=("facility", "provider"))
    return Counter({key: sum(row.values()) for key, row in rows.items() if any(row.values())})


def _listed(by: Principal, selection: Selection) -> set[UUID]:
    return {ride.ride_id for ride in rides_behind(by=by, selection=selection, measures=STATUSES, limit=1000).rows}


@pytest.mark.parametrize("scope", SCOPES, ids=str)
def test_reports_have_the_scope_of_visible_to(
    scope: dict[str, int], owners: tuple[list[Facility], list[TransportProvider]]
) -> None:
    facilities, providers = owners
    ids: dict[str, Any] = {}
    if "facilities" in scope:
        ids["facility_ids"] = frozenset(facility.pk for facility in facilities[: scope["facilities"]])
    if "providers" in scope:
        ids["provider_ids"] = frozenset(provider.pk for provider in providers[: scope["providers"]])

    for by in _principals(**ids, phi=Phi.FULL):
        visible = Ride.objects.visible_to(by)
        selection = select(by=by, first=dt.date(2026, 11, 1), last=dt.date(2026, 11, 30))

        assert _listed(by, selection) == set(visible.values_list("pk", flat=True)), by.role
        assert _counted_by_rollups(selection) == Counter(visible.values_list("facility_id", "provider_id")), by.role
