"""Changed time zone rules: booked rides are moved automatically."""

import datetime as dt
import shutil
import zoneinfo
from collections.abc import Callable, Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
import time_machine

from apps.events.models import Event
from apps.recurring import tasks
from apps.recurring.models import StandingOrder, TimeZoneSnapshot
from apps.recurring.rules.recurrence import clock_rules
from apps.recurring.services import generate_rides
from apps.rides.models import Ride
from apps.rides.services import editing
from lib.access import system
from tests import factories
from tests.factories import NOW
from tests.recurring import cast

pytestmark = pytest.mark.django_db

HOUR, DAY = dt.timedelta(hours=1), dt.timedelta(days=1)
DATA = next(Path(one) for one in zoneinfo.TZPATH if (Path(one) / "America/Denver").exists())


@pytest.fixture
def use_rules_of(tmp_path: Path) -> Iterator[Callable[[str], None]]:
    """Replace the rules of Chicago by those of another zone, as after an update of the zone data."""

    def use(zone: str) -> None:
        (tmp_path / "America").mkdir(exist_ok=True)
        shutil.copy(DATA / zone, tmp_path / "America" / "Chicago")
        zoneinfo.reset_tzpath([str(tmp_path), str(DATA)])
        ZoneInfo.clear_cache()

    yield use
    zoneinfo.reset_tzpath()
    ZoneInfo.clear_cache()


def _there(order: StandingOrder) -> list[Ride]:
    return cast.rides(order, leg_type="outbound")


def test_clock_change_moves_untouched_future_rides_only(
    use_rules_of: Callable[[str], None],
) -> None:
    order = cast.order()
    tasks.generate()
    before = _there(order)
    monday, wednesday, friday = before[:3]
    factories.put_driver_on(wednesday)
    Ride.objects.filter(pk=wednesday.pk).update(status="en_route", departed_at=NOW)
    earlier = friday.pickup_at - dt.timedelta(minutes=20)
    editing.edit(ride_id=friday.pk, changes={"pickup_at": earlier}, by=system(), at=NOW)
    generate_rides.generate(by=system(), at=NOW + 4 * DAY)  # Tuesday: it has processed everything for that day

    use_rules_of("America/Denver")
    with time_machine.travel(NOW + 4 * DAY, tick=False):
        tasks.generate()

    after = _there(order)
    assert [ride.pk for ride in after[: len(before)]] == [ride.pk for ride in before]
    kept = [ride.pickup_at for ride in (monday, wednesday)] + [earlier]
    assert [ride.pickup_at for ride in after[:3]] == kept
    assert [new.pickup_at - old.pickup_at for new, old in zip(after[3:12], before[3:], strict=True)] == [HOUR] * 9
    assert [ride.appointment_at and ride.appointment_at.astimezone(dt.UTC).time() for ride in after[3:]] == [
        dt.time(17, 30)
    ] * len(after[3:])
    # Also: the ride that a person moved, and the return leg of that day.
    assert Event.objects.filter(type="ride.rescheduled").count() == 2 * len(after[3:]) + 2


def test_without_clock_check_rides_would_stay_unchanged(use_rules_of: Callable[[str], None]) -> None:
    order = cast.order()
    tasks.generate()
    use_rules_of("America/Denver")

    generate_rides.generate(by=system(), at=NOW)

    assert {ride.version for ride in cast.rides(order)} == {1}
    tasks.generate()
    assert {ride.version for ride in cast.rides(order)} == {2}


def test_orders_of_other_zones_and_known_rules_are_left_alone(
    use_rules_of: Callable[[str], None], django_assert_num_queries: Callable[[int], object]
) -> None:
    here = cast.order()
    elsewhere = cast.order(cast.dialysis_centre(timezone="America/New_York"))
    tasks.generate()
    assert set(TimeZoneSnapshot.objects.values_list("zone", flat=True)) == {"America/Chicago", "America/New_York"}
    with django_assert_num_queries(2):  # type: ignore[attr-defined]  # a context manager
        generate_rides.reopen_after_clock_changes(at=NOW)

    use_rules_of("America/Denver")
    generate_rides.reopen_after_clock_changes(at=NOW)

    due = dict(StandingOrder.objects.values_list("pk", "generated_through"))
    assert (due[here.pk], due[elsewhere.pk]) == (None, elsewhere.generated_through)
    tasks.generate()
    use_rules_of("America/Chicago")  # a worker with the older data
    generate_rides.reopen_after_clock_changes(at=NOW)
    assert StandingOrder.objects.get(pk=here.pk).generated_through is not None
    assert TimeZoneSnapshot.objects.count() == 3


def test_rules_are_those_of_the_clocks_of_two_years() -> None:
    chicago, denver, winnipeg = (ZoneInfo(f"America/{one}") for one in ("Chicago", "Denver", "Winnipeg"))

    assert len({clock_rules(chicago, 2026), clock_rules(denver, 2026), clock_rules(chicago, 2027)}) == 3
    assert clock_rules(chicago, 2026) == clock_rules(winnipeg, 2026)  # the same change dates since 2006


def test_orders_that_ride_no_more_need_no_rules() -> None:
    cast.order(is_draft=True)

    generate_rides.reopen_after_clock_changes(at=NOW)

    assert TimeZoneSnapshot.objects.count() == 0
