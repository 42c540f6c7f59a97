"""Lists of /admin/ count rows only up to a limit."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.rules.roles import UserRole
from lib import pagination
from tests import factories
from tests.console.admin_pages import context_of, signed_in_as

pytestmark = pytest.mark.django_db
RIDES = "/admin/rides/ride/"


def test_list_of_rides_counts_no_further_than_its_pages_go() -> None:
    factories.RideFactory.create()
    client = signed_in_as(UserRole.DISPATCHER)

    with CaptureQueriesContext(
        connection,
    ) as captured:
        client.get(RIDES)

    counts = [
        query["sql"] for query in captured if "COUNT(" in query["sql"].upper() and 'FROM "rides_ride"' in query["sql"]
    ]
    assert len(counts) == 1
    assert counts[0].endswith("LIMIT 10001) subquery")
    assert "ORDER BY" not in counts[0]


def test_longer_lists_say_so_and_end_with_their_last_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagination, "TOTAL_CAP", 100)
    factories.DriverFactory.create_batch(101)
    client = signed_in_as(UserRole.DISPATCHER)

    first, last, beyond = (client.get("/admin/fleet/driver/", {"p": page}) for page in (1, 2, 3))

    assert context_of(first)["cl"].result_count == 100
    assert "More than 100 drivers" in first.content.decode()
    assert len(context_of(last)["cl"].result_list) == 50
    assert beyond.status_code == 302


def test_list_as_long_as_its_pages_is_counted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagination, "TOTAL_CAP", 3)
    factories.DriverFactory.create_batch(3)

    page = signed_in_as(UserRole.DISPATCHER).get("/admin/fleet/driver/").content.decode()

    assert "3 drivers" in page
    assert "More than" not in page
