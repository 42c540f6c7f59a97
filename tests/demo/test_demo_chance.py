"""The demo with extreme random numbers: occasional events occur always, never, or for no ride."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from apps.demo import demand, loading
from apps.demo.dice import Dice
from apps.demo.loading import DayRange
from apps.events.models import Event
from apps.rides.models import Ride, RideException
from apps.rides.rules.lifecycle import TRANSITIONS
from tests.demo.demo_days import FRIDAY_NOON, loaded

pytestmark = pytest.mark.django_db
LEGAL = {(row.source, row.target) for row in TRANSITIONS} | {(row.target, row.target) for row in TRANSITIONS}


def illegal_steps() -> list[tuple[Any, Any]]:
    """Replay the events of every ride; return the transitions that the table does not contain, and version gaps."""
    wrong: list[tuple[Any, Any]] = []
    versions: dict[Any, int] = defaultdict(int)
    for event in Event.objects.filter(subject_type="ride").order_by("subject_id", "sequence"):
        versions[event.subject_id] += 1
        if event.sequence != versions[event.subject_id]:
            wrong.append(("gap", event.pk))
        if (event.data["previousStatus"], event.data["status"]) not in LEGAL:
            wrong.append((event.data["previousStatus"], event.data["status"]))
    return wrong


@pytest.mark.parametrize(
    "hit", [lambda share: True, lambda share: False, lambda share: share < 0.01], ids=["always", "never", "rarities"]
)
def test_demo_keeps_the_rules_however_chance_falls(
    hit: Callable[[float], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dice, "hit", lambda dice, share: hit(share))

    with loaded(FRIDAY_NOON, DayRange(past=2, future=1)):
        assert Ride.objects.count() > 500
        assert illegal_steps() == []


def test_demo_keeps_the_rules_where_nobody_can_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demand, "_FATES", (("unf_given_back", 1000),))
    monkeypatch.setattr(loading, "duties_at", lambda plan, second: [])

    with loaded(FRIDAY_NOON, DayRange(past=1, future=0)):
        given_back = Ride.objects.filter(status="unfulfilled", reason_code="given_back_late")
        assert given_back.count() > 100
        assert not given_back.filter(driver__isnull=False).exists()
        assert illegal_steps() == []


def test_demo_is_consistent_if_every_ride_ends_in_an_emergency(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demand, "_FATES", (("unf_aborted", 1000),))

    with loaded(FRIDAY_NOON, DayRange(past=1, future=0)):
        aborted = Ride.objects.filter(status="unfulfilled", reason_code="aborted_medical_emergency")
        assert aborted.count() > 100
        assert RideException.objects.filter(ride__in=aborted, type="medical_emergency").count() == aborted.count()
        assert illegal_steps() == []
