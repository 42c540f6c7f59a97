"""Deprecated operations: announced on every answer, and gone after the sunset date."""

import datetime as dt
from typing import Any

import pytest
import time_machine

from lib.api.deprecation import Deprecation, Gone, headers_of
from tests.api.sample import PayerViewSet
from tests.callers import TokenClient, error_of
from tests.factories import NOW, PayerFactory

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.api.sample")]
VERSION = "2026-11-20"
ENDS = Deprecation(deprecated=dt.date(2026, 11, 20), sunset=dt.date(2028, 11, 20))
HEADERS = {
    "Deprecation": "@1795132800",
    "Sunset": "Mon, 20 Nov 2028 00:00:00 GMT",
    "Link": '</docs/api>; rel="deprecation"; type="text/html"',
}


def _told(response: Any) -> dict[str, str]:
    return {name: response.headers[name] for name in HEADERS if name in response.headers}


@pytest.fixture
def list_retires(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PayerViewSet, "retiring", {"list": ENDS})


@pytest.fixture
def version_retires(settings: Any) -> None:
    settings.API_VERSIONS = [VERSION, "2027-01-01"]
    settings.API_RETIREMENTS = {VERSION: ENDS}


def test_nothing_is_told_of_what_stays(api: TokenClient) -> None:
    assert _told(api.get("/api/payers")) == {}


@pytest.mark.usefixtures("list_retires")
def test_operation_tells_its_end_on_answers_and_refusals(api: TokenClient) -> None:
    with time_machine.travel(NOW, tick=False):
        answers = [api.get("/api/payers"), api.get("/api/payers", {"nonsense": "1"})]
        other = api.post("/api/payers", {"name": "a"})

    assert [answer.status_code for answer in answers] == [200, 400]
    assert [_told(answer) for answer in answers] == [HEADERS, HEADERS]
    assert (other.status_code, _told(other)) == (201, {})


@pytest.mark.usefixtures("version_retires")
def test_version_tells_its_end_to_those_who_use_it(api: TokenClient) -> None:
    with time_machine.travel(NOW, tick=False):
        pinned = api.get("/api/payers")
        newer = api.get("/api/payers", headers={"API-Version": "2027-01-01"})

    assert (pinned.headers["API-Version"], _told(pinned)) == (VERSION, HEADERS)
    assert (newer.headers["API-Version"], _told(newer)) == ("2027-01-01", {})


@pytest.mark.usefixtures("list_retires")
@pytest.mark.parametrize(("day", "status"), [(dt.date(2028, 11, 19), 200), (dt.date(2028, 11, 20), 410)])
def test_operation_is_gone_when_its_day_begins(api: TokenClient, day: dt.date, status: int) -> None:
    api.token.expires_at = NOW + dt.timedelta(days=1000)
    api.token.save()
    with time_machine.travel(dt.datetime(day.year, day.month, day.day, tzinfo=dt.UTC), tick=False):
        response = api.get("/api/payers")

    assert response.status_code == status
    if status == 410:
        assert error_of(response)["code"] == "GONE"


@pytest.mark.usefixtures("list_retires")
def test_page_that_has_a_next_one_keeps_its_link(api: TokenClient) -> None:
    PayerFactory.create_batch(2)

    with time_machine.travel(NOW, tick=False):
        response = api.get("/api/payers", {"limit": 1})

    assert 'rel="next"' in response.headers["Link"]
    assert 'rel="deprecation"' in response.headers["Link"]


def test_of_two_ends_the_nearer_counts() -> None:
    later = Deprecation(deprecated=dt.date(2026, 1, 1), sunset=dt.date(2030, 1, 1))
    announced = Deprecation(deprecated=dt.date(2027, 1, 1), sunset=dt.date(2027, 1, 2))

    assert headers_of([later, ENDS, None, announced], at=NOW) == HEADERS
    assert headers_of([announced, None], at=NOW) == {}
    with pytest.raises(Gone):
        headers_of([later, announced], at=NOW + dt.timedelta(days=60))
