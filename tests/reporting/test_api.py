"""GET /reports/...: figures over the API, and access to them."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.fleet.models import Shift
from apps.reporting.rules.kpis import ALL_KPIS
from apps.reporting.services import rollups
from apps.rides.models import Ride
from lib.access import system
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.golden import MONTH
from tests.reporting.test_golden_month import EXPECTED, month

__all__ = ["month"]  # the fixture

PERIOD = "from=2026-11-01&to=2026-11-30"
AS_OF = "2026-11-20T15:00:00Z"


def read(api: TokenClient, path: str) -> dict[str, Any]:
    response = api.get(f"/api/reports/{path}")
    assert response.status_code == 200, response.content
    return dict(response.json())


def by_key(figures: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {figure["key"]: figure for figure in figures}


def _without_addresses(figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    def bare(told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "rides": None}

    return [{**bare(one), "parts": {name: bare(part) for name, part in one["parts"].items()}} for one in figures]


def test_facility_kpis_match_the_golden_month(api: TokenClient, month: legs.Cast) -> None:
    body = read(api, f"facility-kpis?{PERIOD}")

    (row,) = body["data"]
    assert (row["facilityId"], row["facilityName"]) == (str(month.facility.pk), month.facility.name)
    assert {
        key: (one["value"], one["numerator"], one["denominator"], one["excluded"])
        for key, one in by_key(row["figures"]).items()
    } == EXPECTED
    assert _without_addresses(body["total"]) == _without_addresses(row["figures"])
    assert {(one["value"], one["denominator"]) for one in row["before"]} == {(None, 0)}
    assert {(one["definitionVersion"], one["asOf"]) for one in row["figures"]} == {("kpi-1", AS_OF)}
    assert body["restatements"] == []
    assert body["progress"] == {"asOf": AS_OF, "backfilledFrom": None, "closedThrough": "2026-11-12"}


def test_period_before_stands_beside(api: TokenClient, month: legs.Cast) -> None:
    body = read(api, "facility-kpis?from=2026-11-16&to=2026-11-30&kpi=fulfillmentRate,completionRate")

    (row,) = body["data"]
    # From the 16th on: 6 of the 20 appointments.
    assert [one["numerator"] for one in row["figures"]] == [6, 6]
    assert [one["numerator"] for one in row["before"]] == [29, 29]
    assert [one["numerator"] for one in body["totalBefore"]] == [29, 29]


def test_without_comparison_there_is_none(api: TokenClient, month: legs.Cast) -> None:
    body = read(api, f"facility-kpis?{PERIOD}&kpi=leadTime&compare=false")

    assert (body["data"][0]["before"], body["totalBefore"]) == ([], [])


def test_service_type_narrows(api: TokenClient, month: legs.Cast) -> None:
    body = read(
        api, f"facility-kpis?{PERIOD}&kpi=fulfillmentRate,dischargeWithin60&type=hospital_discharge&compare=false"
    )

    (row,) = body["data"]
    assert [(one["numerator"], one["denominator"]) for one in row["figures"]] == [(4, 5), (2, 5)]


def test_provider_narrows_to_rides_that_it_drives(api: TokenClient, month: legs.Cast) -> None:
    provider = month.driver.provider_id

    body = read(api, f"facility-kpis?{PERIOD}&kpi=fulfillmentRate&providerId={provider}&compare=false")

    assert [(one["numerator"], one["denominator"]) for one in body["data"][0]["figures"]] == [(35, 35)]


def test_trend_by_day_sums_to_the_month(api: TokenClient, month: legs.Cast) -> None:
    body = read(api, f"trends?{PERIOD}&kpi=pickupOnTimeRate&by=day")

    numbers = [(one["figures"][0]["numerator"], one["figures"][0]["denominator"]) for one in body["data"]]
    assert (sum(one for one, _ in numbers), sum(one for _, one in numbers)) == EXPECTED["pickupOnTimeRate"][1:3]
    assert (body["by"], body["data"][0]["key"], len(body["data"])) == ("day", ["2026-11-01"], 25)


@pytest.mark.parametrize(
    ("by", "keys"),
    [
        ("week", [["2026-10-26"], ["2026-11-02"], ["2026-11-09"], ["2026-11-16"], ["2026-11-23"]]),
        ("month", [["2026-11-01"]]),
        ("pattern", [["mwf"], ["other"], ["tts"]]),
        ("shift", [["first"], ["second"], ["third"]]),
    ],
)
def test_trend_along(api: TokenClient, month: legs.Cast, by: str, keys: list[list[str]]) -> None:
    body = read(api, f"trends?{PERIOD}&kpi=treatmentsAtRisk&by={by}")

    assert [one["key"] for one in body["data"]] == keys
    assert sum(one["figures"][0]["numerator"] for one in body["data"]) == 3


def test_patterns_and_shifts_of_dialysis(api: TokenClient, month: legs.Cast) -> None:
    patterns = read(api, f"trends?{PERIOD}&kpi=dialysisChairOnTime&by=pattern")["data"]
    shifts = read(api, f"trends?{PERIOD}&kpi=treatmentsAtRisk&by=shift")["data"]

    # Monday and Wednesday arrived, a Monday failed; the cancelled Sunday is excluded; Tuesday and Saturday were late.
    assert {one["key"][0]: (one["figures"][0]["numerator"], one["figures"][0]["denominator"]) for one in patterns} == {
        "mwf": (1, 3),
        "other": (0, 0),
        "tts": (0, 2),
    }
    assert {one["key"][0]: (one["figures"][0]["numerator"], one["figures"][0]["denominator"]) for one in shifts} == {
        "first": (2, 4),
        "second": (0, 1),
        "third": (1, 1),
    }


def test_hours_of_the_week(api: TokenClient, month: legs.Cast) -> None:
    body = read(api, f"trends?{PERIOD}&kpi=dischargeReadyToDepart&by=weekday_hour")

    found = {tuple(one["key"]): one["figures"][0]["value"] for one in body["data"]}
    waits = {key: value for key, value in found.items() if value is not None}
    assert waits == {("1", "13"): 45.0, ("2", "13"): 60.0, ("3", "13"): 61.0, ("4", "13"): 181.0}


def test_hours_are_not_kept_by_service_type(api: TokenClient, month: legs.Cast) -> None:
    response = api.get(f"/api/reports/trends?{PERIOD}&kpi=leadTime&by=weekday_hour&type=dialysis")

    error = error_of(response)
    assert (response.status_code, error["details"][0]["field"]) == (400, "by")


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("facility-kpis?from=2026-11-02&to=2026-11-01", "to"),
        ("facility-kpis?from=2024-01-01&to=2026-11-01", "to"),
        ("facility-kpis?to=2026-11-01", "from"),
        ("facility-kpis?from=2026-11-31&to=2026-12-01", "from"),
        (f"facility-kpis?{PERIOD}&kpi=madeUp", "kpi[0]"),
        (f"facility-kpis?{PERIOD}&basis=both", "basis"),
        (f"trends?{PERIOD}", "kpi"),
        (f"trends?{PERIOD}&kpi=leadTime&by=year", "by"),
        (f"breakdown?{PERIOD}&dimension=weather", "dimension"),
        ("utilization?from=2026-08-01&to=2026-11-30", "to"),
        (f"utilization?{PERIOD}&basis=live", "basis"),
        ("rides?from=2026-08-01&to=2026-11-30&kpi=leadTime", "to"),
        (f"rides?{PERIOD}&kpi=leadTime&counted=excluded&reason=weather", "reason"),
        ("daily-summary", "date"),
        ("daily-summary?date=2026-11-20&hour=4", "hour"),
    ],
)
def test_bad_question_is_refused_by_name(api: TokenClient, path: str, field: str) -> None:
    response = api.get(f"/api/reports/{path}")

    error = error_of(response)
    assert (response.status_code, error["code"]) == (400, "VALIDATION_ERROR")
    assert [detail["field"] for detail in error["details"]] == [field]


def test_longest_period_is_answered(api: TokenClient, month: legs.Cast) -> None:
    body = read(api, "facility-kpis?from=2024-09-22&to=2026-11-30&kpi=fulfillmentRate&compare=false")

    assert body["total"][0]["numerator"] == 35


def test_daily_summary(api: TokenClient, month: legs.Cast) -> None:
    body = read(api, "daily-summary?date=2026-11-08")

    # A no-show, an unreleased discharge, and a cancelled treatment; an appointment.
    assert body["statuses"] == {
        "requested": 0,
        "scheduled": 1,
        "assigned": 0,
        "en_route": 0,
        "arrived": 0,
        "in_progress": 0,
        "completed": 1,
        "cancelled": 1,
        "no_show": 1,
        "unfulfilled": 0,
    }
    there = "from=2026-11-08&to=2026-11-08"
    assert body["topReasons"] == [
        {
            "category": word,
            "code": code,
            "amount": 1,
            "rides": f"/api/reports/rides?dimension=reason&category={word}&code={code}&{there}",
        }
        for word, code in (("cancelled", "rider_hospitalized"), ("no_show", "rider_unreachable"))
    ]
    assert body["statusRides"]["no_show"] == f"/api/reports/rides?dimension=status&category=no_show&{there}"
    assert by_key(body["figures"])["pickupOnTimeRate"]["value"] == 0.5
    assert body["now"] | {"asOf": None} == {
        "openExceptions": {"info": 1, "warning": 0, "critical": 1},
        "unassignedNext24Hours": 0,
        "willCallsWaiting": 0,
        "asOf": None,
    }


def test_what_waits_now_is_of_whom_was_asked_for(api: TokenClient, month: legs.Cast) -> None:
    soon = factories.RideFactory.create(facility=month.facility, service_type="therapy")
    legs.write_trouble(soon, legs.Trouble("late_pickup"))
    waiting = legs.write(legs.Leg(20, status="scheduled", service="therapy", ready=0, accepted=None), month)
    factories.RideFactory.create()
    here = f"date=2026-11-20&facilityId={waiting.facility_id}&type=therapy"

    body = read(api, f"daily-summary?{here}")
    of_provider = read(api, f"daily-summary?{here}&providerId={month.driver.provider_id}")

    assert body["now"] | {"asOf": None} == {
        "openExceptions": {"info": 0, "warning": 1, "critical": 0},
        "unassignedNext24Hours": 2,
        "willCallsWaiting": 1,
        "asOf": None,
    }
    assert of_provider["now"] | {"asOf": None} == {
        "openExceptions": {"info": 0, "warning": 0, "critical": 0},
        "unassignedNext24Hours": 0,
        "willCallsWaiting": 0,
        "asOf": None,
    }


def test_breakdowns(api: TokenClient, month: legs.Cast) -> None:
    reasons = read(api, f"breakdown?{PERIOD}&dimension=reason")["data"]
    faults = read(api, f"breakdown?{PERIOD}&dimension=fault")["data"]
    types = read(api, f"breakdown?{PERIOD}&dimension=exception_type")["data"]

    counted = {(one["category"], one["code"]): one["amount"] for one in reasons}
    assert sum(counted.values()) == 4 + 8 + 12
    assert counted["cancelled", "standing_order_hold"] == 1  # the built-in reason of the operator's code
    assert counted["unfulfilled", "no_driver_available"] == 2
    assert {(one["category"], one["code"]): one["amount"] for one in faults if one["category"] != "cancelled"} == {
        ("unfulfilled", "provider"): 5,
        ("unfulfilled", "payer"): 2,
        ("unfulfilled", "none"): 1,
        ("no_show", "rider"): 2,
        ("no_show", "facility"): 1,
        ("no_show", "none"): 1,
    }
    assert {(one["category"], one["code"], one["amount"]) for one in types} == {
        ("critical", "ride_unfulfilled", 1),
        ("critical", "no_driver_available", 1),
        ("info", "unassigned_at_risk", 1),
        ("critical", "vehicle_breakdown", 1),
        ("critical", "accident", 1),
    }


@pytest.mark.parametrize("of", ["driver", "vehicle"])
def test_utilization(api: TokenClient, month: legs.Cast, of: str) -> None:
    # Ten hours, half of them on the last day of the period.
    midnight = dt.datetime(2026, 12, 1, 6, 0, tzinfo=dt.UTC)
    for hours, status in ((-5, "planned"), (-15, "cancelled")):
        starts_at = midnight + dt.timedelta(hours=hours)
        factories.ShiftFactory.create(
            driver=month.driver,
            vehicle=month.vehicle,
            starts_at=starts_at,
            ends_at=starts_at + dt.timedelta(hours=10),
            status=Shift.Status(status),
        )

    (row,) = read(api, f"utilization?{PERIOD}&of={of}")["data"]

    rides = Ride.objects.filter(status="completed")
    busy = [(ride.dropped_off_at - ride.boarded_at) for ride in rides if ride.dropped_off_at and ride.boarded_at]
    minutes = int(sum(busy, dt.timedelta()).total_seconds()) // 60
    assert row == {
        "id": str(getattr(month, of).pk),
        "rides": 35,
        "minutesBusy": minutes,
        "minutesOnBoard": 1567 + 28,
        "minutesOnShift": 300,
        "miles": 0,
        "shareBusy": round(minutes / 300, 4),
        "lastDate": "2026-11-21",
        "suppressed": False,
    }


@pytest.mark.parametrize("narrowed", ["facility", "type", "reach"])
def test_shifts_are_not_told_of_a_part_of_the_rides(month: legs.Cast, narrowed: str) -> None:
    starts_at = dt.datetime(2026, 11, 10, 15, 0, tzinfo=dt.UTC)
    factories.ShiftFactory.create(
        driver=month.driver, vehicle=month.vehicle, starts_at=starts_at, ends_at=starts_at + dt.timedelta(hours=8)
    )
    query = {"facility": f"&facilityId={month.facility.pk}", "type": "&type=dialysis", "reach": ""}[narrowed]
    reach: Any = {"facility_ids": [month.facility.pk]} if narrowed == "reach" else {}

    (row,) = read(api_with(**reach), f"utilization?{PERIOD}{query}")["data"]

    assert row["rides"] > 5
    assert (row["minutesOnShift"], row["shareBusy"]) == (None, None)


def test_analyst_is_shown_no_work_of_fewer_than_five_rides(month: legs.Cast) -> None:
    few = [legs.cast(), legs.cast()]
    for one in few:
        for leg in [leg for leg in MONTH if leg.status == "completed"][:4]:
            legs.write(leg, one)
    asked = f"utilization?{PERIOD}"

    rows = read(api_with(TokenRole.ANALYTICS_READONLY), asked)["data"]
    full = read(api_with(), asked)["data"]

    assert [(row["id"], row["rides"], row["suppressed"]) for row in rows] == [
        (str(month.driver.pk), 35, False),
        *sorted((str(one.driver.pk), None, True) for one in few),
    ]
    hidden = {key for key, value in rows[1].items() if value is None}
    assert hidden == {"rides", "minutesBusy", "minutesOnBoard", "minutesOnShift", "miles", "shareBusy", "lastDate"}
    assert [(row["rides"], row["suppressed"]) for row in full] == [(35, False), (4, False), (4, False)]


def test_without_shifts_no_share(api: TokenClient, month: legs.Cast) -> None:
    (row,) = read(api, f"utilization?{PERIOD}")["data"]

    assert (row["minutesOnShift"], row["shareBusy"]) == (0, None)


def test_definitions_are_listed(api: TokenClient) -> None:
    body = read(api, "definitions")

    assert [one["key"] for one in body["data"]] == [one.key for one in ALL_KPIS]
    assert body["data"][0] == {
        "key": "fulfillmentRate",
        "version": "kpi-1",
        "title": "Fulfillment",
        "question": "What share of the rides due to be provided was completed?",
        "unit": "share",
        "population": "Completed and unfulfilled rides",
        "counted": "Completed rides",
        "quantile": None,
        "numerator": ["completed"],
        "denominator": ["completed", "unfulfilled_provider", "unfulfilled_other"],
        "excluded": {
            "not_booked": "Duplicates, booking errors, and standing order rides on hold, ended or moved",
            "cancelled": "Canceled",
            "no_show": "No-shows",
            "not_ended": "Not ended yet",
        },
        "parts": {},
        "higherIsBetter": True,
    }


def test_rides_behind_a_figure_page_by_page(api: TokenClient, month: legs.Cast) -> None:
    path = f"rides?{PERIOD}&kpi=noShowRate&counted=excluded&reason=unfulfilled&limit=3"
    found: list[str] = []
    cursor = ""
    while True:
        body = read(api, path + cursor)
        found += [one["rideId"] for one in body["data"]]
        if not body["page"]["hasMore"]:
            break
        cursor = f"&cursor={body['page']['nextCursor']}"

    expected = Ride.objects.filter(status="unfulfilled").order_by("pickup_at", "pk")
    assert found == [str(ride.pk) for ride in expected]


def test_rides_of_denominator_list_numerator_measures(api: TokenClient, month: legs.Cast) -> None:
    rows = read(api, f"rides?{PERIOD}&kpi=pickupOnTimeRate&limit=100")["data"]

    assert sum("arrived_on_time" in row["measures"] for row in rows) == 36


def test_cursor_of_another_question_is_refused(api: TokenClient, month: legs.Cast) -> None:
    page = read(api, f"rides?{PERIOD}&kpi=noShowRate&limit=3")["page"]

    response = api.get(f"/api/reports/rides?{PERIOD}&kpi=leadTime&limit=3&cursor={page['nextCursor']}")

    assert error_of(response)["code"] == "INVALID_CURSOR"


PATHS = [
    f"facility-kpis?{PERIOD}",
    f"trends?{PERIOD}&kpi=leadTime",
    f"breakdown?{PERIOD}",
    f"utilization?{PERIOD}",
    f"rides?{PERIOD}&kpi=completionRate",
]


@pytest.mark.parametrize("path", PATHS)
def test_other_facilities_and_providers_are_absent(month: legs.Cast, path: str) -> None:
    elsewhere = legs.cast()
    by_facility = api_with(facility_ids=[elsewhere.facility.pk])
    by_provider = api_with(provider_ids=[elsewhere.driver.provider_id])

    assert read(by_facility, path)["data"] == []
    assert read(by_provider, path)["data"] == []
    assert read(by_facility, f"{path}&facilityId={month.facility.pk}")["data"] == []


@pytest.mark.parametrize("path", PATHS)
def test_own_facility_and_provider_are_there(month: legs.Cast, path: str) -> None:
    own = api_with(facility_ids=[month.facility.pk], provider_ids=[month.driver.provider_id])

    assert read(own, path)["data"] != []


@pytest.mark.parametrize("path", [*PATHS, "definitions", "daily-summary?date=2026-11-08"])
def test_scope_is_needed(month: legs.Cast, path: str) -> None:
    integrator = api_with(TokenRole.EHR_INTEGRATOR)

    response = integrator.get(f"/api/reports/{path}")

    error = error_of(response)
    assert (response.status_code, error["details"][0]["requiredScope"]) == (403, "reports:read")


def test_analyst_gets_no_small_cell(month: legs.Cast) -> None:
    analyst = api_with(TokenRole.ANALYTICS_READONLY)

    (row,) = read(analyst, f"facility-kpis?{PERIOD}&compare=false")["data"]

    figures = by_key(row["figures"])
    assert (figures["completionRate"]["value"], figures["completionRate"]["suppressed"]) == (0.6604, False)
    # 2 riders in advance are too few; together with the total, the five that were not booked would reveal them.
    assert figures["completionRate"]["excluded"] == {"not_booked": None, "cancelled_in_advance": None}
    hidden = {key for key, one in figures.items() if one["suppressed"]}
    assert {"noShowRate", "lateCancelRate", "dischargeWithin60", "mtta", "returnWait"} <= hidden
    for key in hidden:
        one = figures[key]
        assert (one["value"], one["numerator"], one["denominator"]) == (None, None, None)
        assert set(one["excluded"].values()) <= {None}


def test_only_hidden_row_takes_another_with_it(month: legs.Cast) -> None:
    # One facility with 3 rides, one with 6 and the month with 43: unless 6 is hidden too, 3 is the difference.
    few, some = legs.cast(), legs.cast()
    for leg in MONTH[:3]:
        legs.write(leg, few)
    for leg in MONTH[:6]:
        legs.write(leg, some)
    rollups.rebuild(first=dt.date(2026, 11, 1), last=dt.date(2026, 11, 30), discard_closed=True, at=NOW)
    analyst = api_with(TokenRole.ANALYTICS_READONLY)

    body = read(analyst, f"facility-kpis?{PERIOD}&compare=false&kpi=fulfillmentRate")

    shown = {row["facilityId"]: row["figures"][0]["denominator"] for row in body["data"]}
    assert shown == {str(month.facility.pk): 43, str(few.facility.pk): None, str(some.facility.pk): None}
    assert body["total"][0]["denominator"] == 52


def test_only_row_hides_the_whole(db: None) -> None:
    few = legs.cast()
    for leg in MONTH[:3]:
        legs.write(leg, few)
    rollups.refresh(by=system(), at=NOW)
    analyst = api_with(TokenRole.ANALYTICS_READONLY)

    body = read(analyst, f"facility-kpis?{PERIOD}&compare=false&kpi=fulfillmentRate")

    assert [row["figures"][0]["suppressed"] for row in body["data"]] == [True]
    assert body["total"][0]["suppressed"] is True


def test_small_counts_of_words_are_hidden_two_at_a_time(month: legs.Cast) -> None:
    analyst = api_with(TokenRole.ANALYTICS_READONLY)

    faults = read(analyst, f"breakdown?{PERIOD}&dimension=fault")["data"]
    summary = read(analyst, "daily-summary?date=2026-11-08")

    assert [one["amount"] for one in faults if one["amount"] is not None] == [8, 5]
    assert [one["amount"] for one in faults][2:] == [None] * (len(faults) - 2)
    assert set(summary["statuses"].values()) == {0, None}


def test_nothing_yet_is_said(api: TokenClient) -> None:
    body = read(api, "daily-summary?date=2026-11-08")

    assert body["progress"] == {"asOf": None, "backfilledFrom": None, "closedThrough": None}
    assert set(body["statuses"].values()) == {0}
