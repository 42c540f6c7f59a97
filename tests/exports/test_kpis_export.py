"""Dataset of figures: the same values as the API, with the same disclosure."""

import datetime as dt
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.exports.models import Export
from apps.exports.queries import kpi_dataset
from apps.exports.queries.datasets import DATASETS
from apps.reporting.models import MetricsRow
from apps.reporting.rules.kpis import KPI_BY_KEY
from apps.reporting.services import rollups
from lib.access import system
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.exports.exported import FORMATS, ask, body_of, exported, get, link_to, make, rows_of
from tests.factories import NOW
from tests.reporting import legs
from tests.reporting.golden import MONTH
from tests.reporting.test_api import read
from tests.reporting.test_golden_month import EXPECTED, month

__all__ = ["month"]  # the fixture
pytestmark = pytest.mark.django_db

NOVEMBER = {"serviceDateFrom": "2026-11-01", "serviceDateTo": "2026-11-30"}
TOLD = ("value", "numerator", "denominator", "excluded", "parts", "suppressed", "definitionVersion", "asOf")


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = str(tmp_path / "exports")


@pytest.fixture
def others(month: legs.Cast) -> tuple[legs.Cast, legs.Cast]:
    """Two further facilities, of 3 and 6 legs."""
    few, some = legs.cast(), legs.cast()
    for by, count in ((few, 3), (some, 6)):
        for leg in MONTH[:count]:
            legs.write(leg, by)
    rollups.rebuild(first=dt.date(2026, 11, 1), last=dt.date(2026, 11, 30), discard_closed=True, at=NOW)
    return few, some


def told(figure: dict[str, Any]) -> tuple[Any, ...]:
    """Return the data of a figure, without the links that the API adds."""
    parts = {name: {**part, "rides": None} for name, part in figure["parts"].items()}
    return tuple({**figure, "parts": parts}[name] for name in TOLD)


def of_api(api: TokenClient, query: str) -> dict[tuple[str, str | None], tuple[Any, ...]]:
    body = read(api, f"facility-kpis?compare=false&{query}")
    return {(one["key"], row["facilityId"]): told(one) for row in body["data"] for one in row["figures"]}


@pytest.mark.parametrize("role", [TokenRole.FULL_ACCESS, TokenRole.ANALYTICS_READONLY])
def test_figures_are_those_of_the_api(others: tuple[legs.Cast, legs.Cast], role: TokenRole) -> None:
    api = api_with(role)

    rows = exported(api, "kpis.ndjson", **NOVEMBER)

    assert len(rows) == 3 * len(KPI_BY_KEY)
    assert {(row["kpi"], row["facilityId"]): told(row) for row in rows} == of_api(api, "from=2026-11-01&to=2026-11-30")
    assert any(row["suppressed"] for row in rows) is (role is TokenRole.ANALYTICS_READONLY)
    assert {(row["periodFrom"], row["periodTo"], row["basis"]) for row in rows} == {
        ("2026-11-01", "2026-11-30", "closed")
    }


def test_figures_match_the_golden_month(api: TokenClient, month: legs.Cast) -> None:
    rows = exported(api, "kpis.ndjson", **NOVEMBER)

    assert list(rows[0]) == [one.name for one in DATASETS["kpis"].columns]
    assert {
        row["kpi"]: (row["value"], row["numerator"], row["denominator"], row["excluded"]) for row in rows
    } == EXPECTED
    assert [row["kpi"] for row in rows] == list(KPI_BY_KEY)
    assert {row["facilityName"] for row in rows} == {month.facility.name}
    assert {row["kpi"]: row["unit"] for row in rows} == {key: one.unit.value for key, one in KPI_BY_KEY.items()}


@pytest.mark.parametrize(
    ("step", "parts"),
    [
        ("week", [("2026-11-03", "2026-11-08"), ("2026-11-09", "2026-11-15"), ("2026-11-16", "2026-11-18")]),
        ("month", [("2026-11-03", "2026-11-18")]),
        ("day", [(f"2026-11-{day:02}", f"2026-11-{day:02}") for day in range(3, 19)]),
    ],
)
@pytest.mark.parametrize("role", [TokenRole.FULL_ACCESS, TokenRole.ANALYTICS_READONLY])
def test_parts_of_a_period_are_what_the_api_says_of_each(
    others: tuple[legs.Cast, legs.Cast], step: str, parts: list[tuple[str, str]], role: TokenRole
) -> None:
    api = api_with(role)
    keys = "fulfillmentRate,dischargeReadyToDepart"

    rows = exported(
        api, "kpis.ndjson", serviceDateFrom="2026-11-03", serviceDateTo="2026-11-18", groupBy=step, kpi=keys
    )

    found: dict[tuple[str, str], dict[Any, Any]] = defaultdict(dict)
    for row in rows:
        found[row["periodFrom"], row["periodTo"]][row["kpi"], row["facilityId"]] = told(row)
    assert set(found) <= set(parts)
    assert [found.get(part, {}) for part in parts] == [
        of_api(api, f"from={first}&to={last}&kpi={keys}") for first, last in parts
    ]
    assert [row["periodFrom"] for row in rows] == sorted(row["periodFrom"] for row in rows)


def test_months_end_where_the_next_one_begins(api: TokenClient, month: legs.Cast) -> None:
    rows = exported(
        api, "kpis.csv", serviceDateFrom="2026-10-15", serviceDateTo="2026-12-20", groupBy="month", kpi="leadTime"
    )

    assert [(row["periodFrom"], row["periodTo"]) for row in rows] == [("2026-11-01", "2026-11-30")]


def test_formats_say_the_same_of_figures(api: TokenClient, month: legs.Cast) -> None:
    texts = {}
    for kind in FORMATS:
        rows = exported(api, f"kpis.{kind}", **NOVEMBER)
        texts[kind] = [{key: _text(value) for key, value in row.items() if key != "exportBatchId"} for row in rows]

    assert len(texts["csv"]) == len(KPI_BY_KEY)
    assert texts["ndjson"] == texts["csv"] == texts["xlsx"] == texts["parquet"]


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, (int, float)):
        return f"{float(value):g}"
    if value is None:
        return ""
    text = str(value)
    try:
        return f"{float(text):g}"
    except ValueError:
        return text


@pytest.mark.parametrize("format", FORMATS)
def test_figures_are_made_by_a_worker_as_well(
    api: TokenClient, month: legs.Cast, nobody: TokenClient, format: str
) -> None:
    wanted = {"groupBy": "month", "basis": "live", "kpi": ["fulfillmentRate"], "serviceType": ["dialysis"]}

    export = make(api, dataset="kpis", format=format, **NOVEMBER, **wanted)

    assert (export.state, export.rows, export.filters) == ("ready", 1, NOVEMBER | wanted)
    assert export.data_as_of == NOW
    (row,) = rows_of(body_of(nobody.get(link_to(api, export))), format)
    (expected,) = read(
        api, "facility-kpis?from=2026-11-01&to=2026-11-30&kpi=fulfillmentRate&type=dialysis&compare=false"
    )["data"]
    assert (row["kpi"], row["basis"]) == ("fulfillmentRate", "live")
    assert float(row["value"]) == expected["figures"][0]["value"]


def test_level_of_the_export_decides_what_is_shown(month: legs.Cast) -> None:
    """The file may be passed on to any reader of that level, and so contains no more, even if its creator sees more."""
    seeing = api_with(TokenRole.BILLING_READONLY, scopes=["exports:create", "reports:read"])

    rows = exported(seeing, "kpis.ndjson", **NOVEMBER)

    assert Export.objects.get().phi == 0
    assert {row["kpi"] for row in rows if row["suppressed"]} >= {"noShowRate", "dischargeWithin60"}


def test_facility_and_provider_keep_what_the_api_keeps(others: tuple[legs.Cast, legs.Cast]) -> None:
    few, some = others
    api = api_with()
    bound = api_with(facility_ids=[few.facility.pk], provider_ids=[few.driver.provider_id])

    asked = exported(api, "kpis.ndjson", **NOVEMBER, facilityId=some.facility.pk)
    driven = exported(api, "kpis.ndjson", **NOVEMBER, providerId=some.driver.provider_id)
    reached = exported(bound, "kpis.ndjson", **NOVEMBER)
    absent = get(bound, "kpis.ndjson", **NOVEMBER, facilityId=some.facility.pk)

    assert {row["facilityId"] for row in asked} == {row["facilityId"] for row in driven} == {str(some.facility.pk)}
    assert {row["facilityId"] for row in reached} == {str(few.facility.pk)}
    assert error_of(absent)["details"][0]["field"] == "facilityId"


def test_rides_of_no_facility_are_a_row_of_their_own(api: TokenClient, month: legs.Cast) -> None:
    MetricsRow.objects.filter(facility=month.facility).update(facility=None)

    rows = exported(api, "kpis.ndjson", **NOVEMBER, kpi="fulfillmentRate")

    assert [(row["facilityId"], row["facilityName"], row["numerator"]) for row in rows] == [(None, None, 35)]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"serviceDateTo": "2026-11-30"}, "serviceDateFrom"),
        ({"serviceDateFrom": "2026-11-01"}, "serviceDateTo"),
        ({"serviceDateFrom": "2026-11-02", "serviceDateTo": "2026-11-01"}, "serviceDateTo"),
        ({"serviceDateFrom": "2024-01-01", "serviceDateTo": "2026-11-30"}, "serviceDateTo"),
        (NOVEMBER | {"kpi": ["madeUp"]}, "kpi[0]"),
        (NOVEMBER | {"serviceType": ["cruise"]}, "serviceType[0]"),
        (NOVEMBER | {"groupBy": "hour"}, "groupBy"),
        (NOVEMBER | {"basis": "both"}, "basis"),
        (NOVEMBER | {"status": ["completed"]}, "status"),
        (NOVEMBER | {"payerId": "0193d1d0-0000-7000-8000-000000000000"}, "payerId"),
        (NOVEMBER | {"lock": True}, "lock"),
        (NOVEMBER | {"dataset": "rides", "kpi": ["leadTime"]}, "kpi"),
        (NOVEMBER | {"dataset": "rides", "groupBy": "day"}, "groupBy"),
    ],
)
def test_invalid_kpi_request_is_refused_by_field(api: TokenClient, body: dict[str, Any], field: str) -> None:
    error = error_of(ask(api, **{"dataset": "kpis", **body}))

    assert (error["code"], [one["field"] for one in error["details"]]) == ("VALIDATION_ERROR", [field])
    assert not Export.objects.exists()


@pytest.mark.parametrize(("more", "field"), [({}, "kpi"), ({"groupBy": "day"}, "groupBy")])
def test_more_figures_than_are_held_at_a_time_are_refused(
    api: TokenClient, monkeypatch: pytest.MonkeyPatch, more: dict[str, str], field: str
) -> None:
    factories.FacilityFactory.create()
    monkeypatch.setattr(kpi_dataset, "MAX_VALUES", 2 * len(KPI_BY_KEY) - 1)

    refused = error_of(get(api, "kpis.csv", **NOVEMBER, **more))
    fewer = get(api, "kpis.csv", **NOVEMBER, kpi="leadTime,mtta", **({"groupBy": "month"} if more else {}))

    assert [one["field"] for one in refused["details"]] == [field]
    assert body_of(fewer).startswith(b"kpi,definitionVersion,facilityId,periodFrom,periodTo,exportBatchId,")


def test_scope_of_reports_is_needed() -> None:
    without = api_with(TokenRole.ANALYTICS_READONLY, scopes=["exports:create"])

    assert error_of(get(without, "kpis.csv", **NOVEMBER))["code"] == "INSUFFICIENT_SCOPE"


def test_chosen_columns_stand_behind_those_that_tell_rows_apart(api: TokenClient, month: legs.Cast) -> None:
    rows = exported(api, "kpis.csv", **NOVEMBER, columns="value")

    assert list(rows[0]) == [one.name for one in DATASETS["kpis"].columns[:6]] + ["value"]


def test_figures_before_the_first_upkeep_are_none(api: TokenClient) -> None:
    answer = get(api, "kpis.ndjson", **NOVEMBER)

    assert body_of(answer) == b""
    assert "Data-As-Of" not in answer.headers
    assert rollups.refresh(by=system(), at=NOW) == 0
