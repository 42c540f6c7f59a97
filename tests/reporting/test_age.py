"""Age of figures that are read from rides: a database replica may lag behind."""

import datetime as dt

import pytest

from apps.accounts.rules.roles import UserRole
from lib import replica
from tests.callers import TokenClient
from tests.console.reports.test_pages import NOVEMBER, PAGE
from tests.console.visits import text_of, visitor
from tests.reporting import legs
from tests.reporting.test_golden_month import month

__all__ = ["month"]  # the fixture

PERIOD = "from=2026-11-01&to=2026-11-30"
KNOWN = dt.datetime(2026, 11, 20, 14, 57, tzinfo=dt.UTC)


@pytest.fixture(params=[KNOWN, None])
def known(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dt.datetime | None:
    """Set the instant up to which the database has all changes; None: unknown."""
    monkeypatch.setattr(replica, "as_of", lambda using: request.param)
    found: dt.datetime | None = request.param
    return found


def test_api_says_how_old_rides_are(api: TokenClient, month: legs.Cast, known: dt.datetime | None) -> None:
    told = "2026-11-20T14:57:00Z" if known else None

    rides = api.get(f"/api/reports/rides?{PERIOD}&kpi=leadTime")
    work = api.get(f"/api/reports/utilization?{PERIOD}").json()
    now = api.get("/api/reports/daily-summary?date=2026-11-20").json()["now"]

    assert [rides.headers.get("Data-As-Of"), work["asOf"], now["asOf"]] == [told] * 3


def test_pages_say_how_old_rides_are(month: legs.Cast, known: dt.datetime | None) -> None:
    client = visitor(UserRole.DISPATCH_SUPERVISOR)
    driver = f"utilization/driver/{month.driver.pk}/?{NOVEMBER}"

    pages = [f"leadTime/rides/?{NOVEMBER}", f"utilization/?{NOVEMBER}", driver, "day/?day=2026-11-20"]

    said = ["Rides as of" in text_of(client.get(f"{PAGE}{page}")) for page in pages]
    assert said == [known is not None] * 4
