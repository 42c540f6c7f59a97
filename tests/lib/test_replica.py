"""Database that reports and exports read, and the age of their data."""

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.test.utils import CaptureQueriesContext
from environ import Env

from apps.rides.models import Ride
from config import databases
from lib import replica
from tests import factories
from tests.callers import TokenClient
from tests.exports.exported import body_of, get

PERIOD = "from=2026-11-01&to=2026-11-30"


def _databases(monkeypatch: pytest.MonkeyPatch, **urls: str) -> dict[str, dict[str, Any]]:
    for name, url in urls.items():
        monkeypatch.setenv(name, url)
    return databases.of(Env(), pool_size=3)


def test_without_a_copy_there_is_one_database(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _databases(monkeypatch, DATABASE_URL="postgres://a@127.0.0.1/one")

    assert list(found) == ["default"]
    assert found["default"]["OPTIONS"]["pool"]["max_size"] == 3


def test_copy_is_a_database_of_its_own_that_is_not_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    urls = {"DATABASE_URL": "postgres://a@127.0.0.1/one", "REPLICA_URL": "postgres://b@127.0.0.2/one"}

    found = _databases(monkeypatch, **urls)

    assert (found["replica"]["HOST"], found["replica"]["TEST"]) == ("127.0.0.2", {"MIRROR": "default"})
    assert replica.Router().allow_migrate("default", "rides")
    assert not replica.Router().allow_migrate("replica", "rides")
    assert replica.Router().allow_relation(None, None)


@pytest.mark.parametrize("url", ["sqlite:///x", "postgres://a@127.0.0.1/"])
def test_address_of_the_copy_is_checked(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="REPLICA_URL has to be postgres"):
        _databases(monkeypatch, DATABASE_URL="postgres://a@127.0.0.1/one", REPLICA_URL=url)


def test_only_reads_inside_the_block_go_to_the_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connections.settings, "replica", {})
    router = replica.Router()

    with replica.reading() as using:
        inside = router.db_for_read(Ride), router.db_for_write(Ride)

    assert (using, inside) == ("replica", ("replica", "default"))
    assert (router.db_for_read(Ride), replica.alias()) == (None, "replica")


@pytest.mark.django_db
def test_database_itself_knows_everything_up_to_now() -> None:
    found = replica.as_of("default")

    assert replica.alias() == "default"
    assert found is not None
    assert abs(found - dt.datetime.now(dt.UTC)) < dt.timedelta(days=3650)


@pytest.fixture
def copy() -> Iterator[str]:
    """Connect to the test database a second time, as if to a replica."""
    connections.settings["replica"] = dict(connections["default"].settings_dict)
    connections["replica"].connect()  # at once: the test runner permits no unknown connection later
    yield "replica"
    connections["replica"].close()
    pooled: Any = connections["replica"]
    pooled.close_pool()
    del connections.settings["replica"]
    del connections["replica"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "path",
    [
        f"facility-kpis?{PERIOD}",
        f"trends?{PERIOD}&kpi=fulfillmentRate&by=facility",
        f"breakdown?{PERIOD}",
        f"utilization?{PERIOD}",
        f"rides?{PERIOD}&kpi=fulfillmentRate",
        "daily-summary?date=2026-11-20",
    ],
)
def test_reports_read_the_copy_alone(copy: str, api: TokenClient, path: str) -> None:
    factories.RideFactory.create()

    with (
        CaptureQueriesContext(connections["default"]) as own,
        CaptureQueriesContext(connections[copy]) as of_the_copy,
    ):
        answer = api.get(f"/api/reports/{path}")

    assert answer.status_code == 200
    assert _reads(of_the_copy)
    assert _reads(own) == []


def _reads(captured: CaptureQueriesContext) -> list[str]:
    """Collect the statements that read the data of reports."""
    tables = re.compile(r"\b(reporting|rides|fleet|organizations)_\w+")
    return [query["sql"] for query in captured.captured_queries if tables.search(query["sql"])]


@pytest.mark.django_db(transaction=True)
def test_exports_read_the_copy_and_say_how_old_it_is(
    copy: str, api: TokenClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ride = factories.RideFactory.create()
    asked: list[str] = []
    as_of = replica.as_of

    def ask(using: str) -> dt.datetime | None:
        asked.append(using)
        return as_of(using)

    monkeypatch.setattr(replica, "as_of", ask)

    answer = get(api, "rides.ndjson")

    assert str(ride.pk) in body_of(answer).decode()
    assert asked == ["replica"]
    assert answer.headers["Data-As-Of"].endswith("Z")
