"""Summary of a day as a file: the content of the API, within the reader's permissions."""

import pytest

from apps.accounts.rules.roles import TokenRole, UserRole
from apps.audit.models import AuditEntry
from tests.callers import api_with
from tests.console.reports.test_pages import PAGE, TOO_FEW, table_of
from tests.console.visits import visitor
from tests.reporting import legs
from tests.reporting.test_golden_month import month

__all__ = ["month"]  # the fixture


def test_file_says_what_the_api_says(month: legs.Cast) -> None:
    client = visitor(UserRole.DISPATCH_SUPERVISOR)
    asked = f"day=2026-11-08&facility={month.facility.pk}"
    api = api_with(TokenRole.BILLING_READONLY).get("/api/reports/daily-summary?date=2026-11-08").json()

    page = client.get(f"{PAGE}day/?{asked}")
    response = client.get(page.context["file"])
    heads, *rows = table_of(response)

    assert f"facility={month.facility.pk}" in page.context["file"]
    assert heads == ["What", "Figure", "Value", "numerator", "denominator"]
    by_what = {what: [row[1:] for row in rows if row[0] == what] for what in dict.fromkeys(row[0] for row in rows)}
    figures, statuses, reasons, waiting = by_what.values()
    assert [row[1] for row in statuses] == [str(count) for count in api["statuses"].values()]
    assert [row[1:] for row in figures] == [
        ["" if one[key] is None else str(one[key]) for key in ("value", "numerator", "denominator")]
        for one in api["figures"]
    ]
    assert [row[:2] for row in reasons] == [
        ["Canceled: Rider hospitalized", "1"],
        ["No-show: Rider unreachable", "1"],
    ]
    now = api["now"]
    counts = [now["unassignedNext24Hours"], now["willCallsWaiting"], *now["openExceptions"].values()]
    assert [row[1] for row in waiting] == [str(count) for count in counts]
    entry = AuditEntry.objects.get(action="reports.export")
    assert entry.details["rows"] == len(rows)


def test_file_hides_what_is_too_few(month: legs.Cast) -> None:
    rows = table_of(visitor(UserRole.ANALYST).get(f"{PAGE}day/file/?day=2026-11-08"))[1:]

    assert {row[2] for row in rows if row[0] == "Why rides ended"} == {TOO_FEW}
    assert ["Rides by status", "No-show", TOO_FEW, "", ""] in rows


@pytest.mark.parametrize("day", ["x", "2026-11-31"])
def test_no_file_of_what_is_no_day(db: None, day: str) -> None:
    response = visitor(UserRole.DISPATCH_SUPERVISOR).get(f"{PAGE}day/file/?day={day}")

    assert (response.status_code, response["Location"]) == (302, f"{PAGE}day/?day={day}")
