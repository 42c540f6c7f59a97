"""Counts by status, reason, fault and type, and parts of figures, with links to their rides."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from tests.console.reports.test_pages import NOVEMBER, PAGE, TOO_FEW
from tests.console.visits import text_of, visitor
from tests.reporting import legs
from tests.reporting.test_golden_month import month

__all__ = ["month"]  # the fixture

COUNTS = f"{PAGE}rides/"


@pytest.fixture
def supervisor(db: None) -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def test_tiles_and_reasons_of_a_day_open_to_their_rides(supervisor: Client, month: legs.Cast) -> None:
    page = supervisor.get(f"{PAGE}day/?day=2026-11-08&facility={month.facility.pk}")
    counts = [(str(badge.text), count, url) for badge, count, url in page.context["statuses"]]
    counts += [(ended, count, url) for ended, _why, count, url in page.context["reasons"]]

    assert len(counts) > 3
    for word, count, url in counts:
        rides = supervisor.get(url)
        assert len(rides.context["rows"]) == int(count), url
        assert {str(row["badge"].text) for row in rides.context["rows"]} == {word}
        assert f'href="{PAGE}day/?' in rides.content.decode()
        assert f'href="{url.replace("&", "&amp;")}"' in page.content.decode()


def test_breakdowns_of_a_figure_open_to_their_rides(supervisor: Client, month: legs.Cast) -> None:
    page = supervisor.get(f"{PAGE}noShowRate/?{NOVEMBER}")
    exceptions = supervisor.get(f"{PAGE}exceptionRate/?{NOVEMBER}").context["breakdowns"][0]

    for one in page.context["breakdowns"]:
        for _ended, _why, count, url in one["rows"]:
            assert len(supervisor.get(url).context["rows"]) == int(count), url
    assert all(supervisor.get(url).context["rows"] for *_words, url in exceptions["rows"])


def test_rides_of_a_count_say_what_it_is_and_are_recorded(supervisor: Client, month: legs.Cast) -> None:
    page = supervisor.get(f"{COUNTS}?{NOVEMBER}&dimension=status&category=completed")
    second = supervisor.get(
        f"{COUNTS}?{NOVEMBER}&dimension=status&category=completed&after={page.context['rows'][29]['ride'].pk}"
    )
    narrowed = supervisor.get(f"{COUNTS}?{NOVEMBER}&dimension=status&category=completed&weekday=1")

    assert "Rides in: Completed" in text_of(page)
    assert month.rider.last_name in text_of(page)
    assert f'href="{PAGE}?period=own&amp;from=2026-11-01&amp;to=2026-11-30"' in page.content.decode()
    assert (len(page.context["rows"]), len(second.context["rows"])) == (35, 5)
    assert 0 < len(narrowed.context["rows"]) < 35
    entry = AuditEntry.objects.filter(action="reports.rides").earliest("at")
    assert entry.details == {"dimension": "status", "category": "completed", "code": "", "rows": 35}
    assert (entry.rider_ids, entry.phi) == ([month.rider.pk], "full")


@pytest.mark.parametrize(
    "asked", ["", "dimension=status", "dimension=status&category=lost", "dimension=reason&category=cancelled"]
)
def test_what_is_no_count_is_not_there(supervisor: Client, asked: str) -> None:
    assert supervisor.get(f"{COUNTS}?{NOVEMBER}&{asked}").status_code == 404


def test_type_of_exceptions_that_is_gone_is_said_by_its_code(supervisor: Client) -> None:
    page = supervisor.get(f"{COUNTS}?dimension=exception_type&category=critical&code=gone_since")

    assert "Rides in: Critical, Gone_since" in text_of(page)
    assert "None in this period." in text_of(page)


def test_analyst_opens_no_small_count(month: legs.Cast) -> None:
    analyst = visitor(UserRole.ANALYST)
    page = analyst.get(f"{PAGE}day/?day=2026-11-02")

    hidden = [url for _badge, count, url in page.context["statuses"] if count == TOO_FEW]
    small = analyst.get(f"{COUNTS}?{NOVEMBER}&dimension=status&category=no_show")

    assert set(hidden) == {""}
    assert "Too few rides to show to users without access to rider identities." in text_of(small)
    assert month.rider.last_name not in small.content.decode()


@pytest.mark.parametrize(("counted", "rows"), [("denominator", "denominator"), ("numerator", "numerator")])
def test_parts_of_a_figure_open_to_their_rides(supervisor: Client, month: legs.Cast, counted: str, rows: str) -> None:
    page = supervisor.get(f"{PAGE}providerFailureRate/?{NOVEMBER}")
    figure: Any = page.context["total"]["figure"]

    for (_words, _value, _of, url), part in zip(page.context["counted"]["parts"], figure.parts.values(), strict=True):
        found = supervisor.get(url.replace("counted=denominator", f"counted={counted}")) if url else None
        assert len(found.context["rows"] if found else []) == getattr(part, rows), url
    assert supervisor.get(f"{PAGE}providerFailureRate/rides/?part=nonsense").status_code == 404
