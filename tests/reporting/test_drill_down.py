"""The rides behind each figure are those that it counts."""

from uuid import UUID

import pytest

from apps.reporting.queries.drill_down import measures_behind, rides_behind
from apps.reporting.queries.selection import select
from apps.reporting.rules.kpis import ALL_KPIS, KPI_BY_KEY, Kpi, KpiMethod, Unit
from apps.rides.models import Ride
from lib.access import Phi, Principal, system
from lib.errors import InvalidInput
from tests import factories
from tests.reporting import legs
from tests.reporting.test_golden_month import FIRST, LAST, figures, month

__all__ = ["month"]  # the fixture


def behind(definition: Kpi, counted: str, reason: str | None = None) -> list[UUID]:
    """Return all rides behind a part of a figure, page by page."""
    found: list[UUID] = []
    after = None
    while True:
        page = rides_behind(
            by=system(),
            selection=select(by=system(), first=FIRST, last=LAST),
            measures=measures_behind(definition, counted, reason),
            after=after,
            limit=7,
        )
        found += [row.ride_id for row in page.rows]
        if not page.has_more:
            return found
        after = (page.rows[-1].pickup_at, page.rows[-1].ride_id)


def test_every_count_of_legs_opens_to_as_many_rides(month: legs.Cast) -> None:
    found = figures(month)

    # Sums of minutes and exceptions are of fewer rides.
    for one in ALL_KPIS:
        if one.unit is Unit.SHARE:
            assert len(behind(one, "numerator")) == found[one.key].numerator, one.key
        if (one.method is KpiMethod.QUANTILE and one.key not in ("mtta", "mttr")) or one.unit is Unit.SHARE:
            assert len(behind(one, "denominator")) == found[one.key].denominator, one.key
            for reason, count in found[one.key].excluded.items():
                assert len(behind(one, "excluded", reason)) == count, (one.key, reason)


def test_ride_says_by_what_it_counts(month: legs.Cast) -> None:
    late = Ride.objects.get(service_type="hospital_discharge", boarded_at__isnull=False, pickup_at__day=5)

    page = rides_behind(
        by=system(),
        selection=select(by=system(), first=late.service_date, last=late.service_date),
        measures=measures_behind(KPI_BY_KEY["dischargeReadyToDepart"], "denominator", None),
        limit=5,
    )

    (row,) = page.rows
    assert (row.ride_id, row.minutes, row.measures, row.status) == (late.pk, [181], ["discharge_wait"], "completed")
    assert (row.service_date, row.facility_id, row.pickup_at) == (late.service_date, late.facility_id, late.pickup_at)


def test_denominator_ride_says_if_the_numerator_counts_it(month: legs.Cast) -> None:
    one = KPI_BY_KEY["pickupOnTimeRate"]

    page = rides_behind(
        by=system(),
        selection=select(by=system(), first=FIRST, last=LAST),
        measures=measures_behind(one, "denominator", None),
        numerator=one.numerator,
        limit=50,
    )

    assert (len(page.rows), sum("arrived_on_time" in row.measures for row in page.rows)) == (45, 36)


@pytest.mark.parametrize(("key", "listed"), [("pickupOnTimeRate", 45), ("noShowRate", 0), ("documentationComplete", 0)])
def test_rides_do_not_tell_what_a_figure_hides(month: legs.Cast, key: str, listed: int) -> None:
    # 36 of 45; 2 of 40; 34 of 35.
    analyst = Principal(kind="user", id=None, role="analyst", scopes=frozenset({"reports:read"}), phi=Phi.NONE)

    page = rides_behind(
        by=analyst,
        selection=select(by=analyst, first=FIRST, last=LAST),
        measures=measures_behind(KPI_BY_KEY[key], "denominator", None),
        numerator=KPI_BY_KEY[key].numerator,
        limit=50,
    )

    assert (len(page.rows), page.suppressed) == (listed, not listed)


def test_exceptions_open_to_their_rides(month: legs.Cast) -> None:
    assert len(behind(KPI_BY_KEY["exceptionRate"], "numerator")) == 3
    assert len(behind(KPI_BY_KEY["mtta"], "numerator")) == 3
    assert len(behind(KPI_BY_KEY["rideTimeIndex"], "numerator")) == 34


def test_too_few_rides_are_not_listed_without_phi(month: legs.Cast) -> None:
    analyst = Principal(kind="user", id=None, role="analyst", scopes=frozenset({"reports:read"}), phi=Phi.NONE)
    selection = select(by=analyst, first=FIRST, last=LAST)

    few = rides_behind(by=analyst, selection=selection, measures=("no_show_rider",), limit=50)
    many = rides_behind(by=analyst, selection=selection, measures=("completed",), limit=50)

    assert (few.rows, few.suppressed) == ([], True)
    assert (len(many.rows), many.suppressed) == (35, False)


def test_rides_out_of_reach_are_absent(month: legs.Cast) -> None:
    outsider = factories.principal(facility_ids=frozenset({factories.FacilityFactory.create().pk}))

    page = rides_behind(
        by=outsider, selection=select(by=outsider, first=FIRST, last=LAST), measures=("completed",), limit=50
    )

    assert page.rows == []


@pytest.mark.parametrize(("counted", "reason"), [("excluded", None), ("excluded", "weather"), ("numerator", "no_show")])
def test_reason_has_to_be_one_of_the_figure(counted: str, reason: str | None) -> None:
    with pytest.raises(InvalidInput) as refusal:
        measures_behind(KPI_BY_KEY["fulfillmentRate"], counted, reason)

    assert refusal.value.details[0].field == "reason"
