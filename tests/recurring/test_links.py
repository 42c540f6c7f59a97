"""Calendar links with a secret address: their content, permissions and expiry."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from icalendar import Calendar

from apps.audit.models import AuditEntry
from apps.organizations.models import CalendarShift
from apps.recurring.models import CalendarLink, Occurrence, StandingOrder
from apps.recurring.queries import calendar_feed
from apps.recurring.services import calendar_links, edit_order, generate_rides
from apps.recurring.services.edit_order import OccurrenceEdit
from lib.access import Phi, Principal, system
from lib.errors import DomainError, NotFound, ScopeMissing
from lib.scopes import Scope
from tests import factories
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, MONDAY

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


def _events(link: CalendarLink, *, at: dt.datetime = NOW) -> list[Any]:
    return Calendar.from_ical(calendar_feed.feed_of(link, at=at).body).walk("VEVENT")


def _of_order(order: StandingOrder, *, with_names: bool = False) -> CalendarLink:
    return calendar_links.issue_for_order(order_id=order.pk, with_names=with_names, by=system(), at=NOW).link


def _of_facility(order: StandingOrder, *, with_names: bool = False) -> CalendarLink:
    return calendar_links.issue_for_facility(
        facility_id=order.facility_id, with_names=with_names, by=system(), at=NOW
    ).link


def test_order_calendar_has_a_year_of_legs_in_facility_wall_time() -> None:
    order = cast.order()

    events = _events(_of_order(order))

    assert len(events) == 2 * len([day for day in _days(MONDAY, NOW.date() + 366 * DAY) if day.weekday() in (0, 2, 4)])
    out, back = events[:2]
    assert out["UID"] == f"{order.pk}.2026-11-23.outbound@carelane"
    assert (out.decoded("DTSTART").isoformat(), out["DTSTART"].params["TZID"]) == (
        "2026-11-23T09:55:00-06:00",
        "America/Chicago",
    )
    assert out.decoded("DTEND").isoformat() == "2026-11-23T10:30:00-06:00"
    assert back.decoded("DTSTART").isoformat() == "2026-11-23T15:00:00-06:00"
    assert "DTEND" not in back
    assert {(str(event["STATUS"]), str(event["DESCRIPTION"])) for event in events} == {
        ("CONFIRMED", "Booked"),
        ("TENTATIVE", "Planned"),
    }
    july = next(event for event in events if "2027-07-02" in event["UID"])
    assert july.decoded("DTSTART").isoformat() == "2027-07-02T09:55:00-05:00"


def _days(first: dt.date, last: dt.date) -> list[dt.date]:
    return [first + days * DAY for days in range((last - first).days + 1)]


def test_calendar_includes_time_zone_rules_and_folds_lines() -> None:
    body = calendar_feed.feed_of(_of_order(cast.order()), at=NOW).body

    zones = Calendar.from_ical(body).walk("VTIMEZONE")
    assert [str(zone["TZID"]) for zone in zones] == ["America/Chicago"]
    assert all(len(line) <= 75 for line in body.split(b"\r\n"))


def test_calendar_says_nothing_of_who_rides_unless_its_link_does() -> None:
    order = cast.order()
    named = f"{order.rider.first_name} {order.rider.last_name}"

    plain = calendar_feed.feed_of(_of_order(order), at=NOW).body.replace(b"\r\n ", b"").decode()
    with_names = _events(_of_order(order, with_names=True))

    for word in (order.rider.first_name, order.rider.last_name, order.rider.phones[0]["number"], "Chicago, IL"):
        assert word not in plain
    assert [str(event["SUMMARY"]) for event in with_names[:2]] == [
        f"Ride to dialysis, {named}",
        f"Ride back from dialysis by call, {named}",
    ]
    assert f"Ride to dialysis\\, {order.pk.hex[-6:]}" in plain


def test_scheduled_way_back_is_not_by_call() -> None:
    order = cast.order(of={"return_mode": "scheduled"})

    assert str(_events(_of_order(order))[1]["SUMMARY"]) == f"Ride back from dialysis, {order.pk.hex[-6:]}"


def test_moved_days_keep_their_name_and_skipped_ones_are_gone() -> None:
    order = cast.order()
    link = _of_order(order)
    before = [event["UID"] for event in _events(link)]
    tuesday = OccurrenceEdit(to_date=MONDAY + DAY)
    edit_order.change_occurrence(order_id=order.pk, pattern_date=MONDAY, edit=tuesday, by=system(), at=NOW)
    edit_order.skip(order_id=order.pk, pattern_date=DATES[1], by=system(), at=NOW)

    after = _events(link)

    assert {*before} - {event["UID"] for event in after} == {
        f"{order.pk}.2026-11-25.{leg}@carelane" for leg in ("outbound", "return")
    }
    assert after[0]["UID"] == before[0]
    assert after[0].decoded("DTSTART").date() == MONDAY + DAY
    assert str(after[0]["DESCRIPTION"]) == "Booked\nMoved from Monday, November 23"


def test_day_that_could_not_be_booked_stands_out() -> None:
    order = cast.order()
    Occurrence.objects.filter(pattern_date=MONDAY).update(decision="refused", refusal="DUPLICATE_RIDE", ride=None)

    event = _events(_of_order(order))[0]

    assert str(event["SUMMARY"]).startswith("NOT BOOKED: Ride to dialysis")
    assert (str(event["STATUS"]), str(event["DESCRIPTION"])) == (
        "TENTATIVE",
        "No ride could be booked\nduplicate_ride",
    )


def test_ride_that_has_ended_says_how() -> None:
    order = cast.order()
    ride = cast.rides(order)[0]
    columns = {"reason_code": "rider_ill", "fault": "none", "ended_by": "user", "status_before_end": "scheduled"}
    type(ride).objects.filter(pk=ride.pk).update(status="no_show", **columns)

    assert str(_events(_of_order(order))[0]["DESCRIPTION"]) == "No-show"


def test_facility_calendar_has_two_weeks_of_its_active_orders() -> None:
    order = cast.order()
    cast.order(order.facility, factories.RiderFactory.create(facility=order.facility), is_draft=True)
    second = cast.order(order.facility, factories.RiderFactory.create(facility=order.facility))
    cast.order()
    ended = cast.order(order.facility, factories.RiderFactory.create(facility=order.facility))
    edit_order.end(order_id=ended.pk, last_date=None, by=system(), at=NOW)

    found = [event["UID"].split(".")[0] for event in _events(_of_facility(order))]

    assert {*found} == {str(order.pk), str(second.pk)}
    assert len(found) == 2 * 2 * len([day for day in DATES if day <= NOW.date() + 14 * DAY])


def test_queries_do_not_grow_with_orders(django_assert_num_queries: Any) -> None:
    order = cast.order()
    for _ in range(2):
        cast.order(order.facility, factories.RiderFactory.create(facility=order.facility))
    link = CalendarLink.objects.select_related("facility").get(pk=_of_facility(order, with_names=True).pk)

    with django_assert_num_queries(6):
        calendar_feed.feed_of(link, at=NOW)


def test_empty_calendar_is_a_calendar() -> None:
    order = cast.order(is_draft=True)

    body = calendar_feed.feed_of(_of_facility(order), at=NOW).body

    assert Calendar.from_ical(body).walk("VEVENT") == []


def test_secret_opens_calendar_until_revoked_and_is_not_stored() -> None:
    order = cast.order()
    issued = calendar_links.issue_for_order(order_id=order.pk, by=system(), at=NOW)

    link, reader = calendar_links.open_link(issued.secret, at=NOW)

    assert link == issued.link
    assert (reader.facility_ids, reader.phi, reader.scopes) == (
        frozenset({order.facility_id}),
        Phi.NONE,
        frozenset[str](),
    )
    assert issued.secret.encode() not in bytes(CalendarLink.objects.get().digest)
    assert issued.secret not in repr(issued)
    calendar_links.revoke(link_id=link.pk, by=system(), at=NOW)
    calendar_links.revoke(link_id=link.pk, by=system(), at=NOW + DAY)
    assert CalendarLink.objects.get().revoked_at == NOW
    for secret in (issued.secret, "", "x" * 43):
        with pytest.raises(NotFound):
            calendar_links.open_link(secret, at=NOW)
    actions = AuditEntry.objects.filter(subject_id=link.pk).values_list("action", flat=True)
    assert sorted(actions) == ["calendar_links.issue", "calendar_links.revoke"]


def test_reading_is_noted_every_few_minutes() -> None:
    issued = calendar_links.issue_for_order(order_id=cast.order().pk, by=system(), at=NOW)

    def read(minutes: int) -> dt.datetime | None:
        calendar_links.open_link(issued.secret, at=NOW + dt.timedelta(minutes=minutes))
        return CalendarLink.objects.get().last_read_at

    assert [read(minutes) for minutes in (0, 4, 6)] == [NOW, NOW, NOW + dt.timedelta(minutes=6)]


def test_only_views_with_names_are_audited() -> None:
    order = cast.order()
    for with_names in (True, False):
        issued = calendar_links.issue_for_facility(
            facility_id=order.facility_id, with_names=with_names, by=system(), at=NOW
        )
        link, reader = calendar_links.open_link(issued.secret, ip="203.0.113.7", at=NOW)
        calendar_links.audit_names(link, calendar_feed.feed_of(link, at=NOW).rider_ids, by=reader)

    entry = AuditEntry.objects.get(action="calendar_links.read")
    assert (entry.rider_ids, entry.phi, entry.role, entry.ip) == (
        [order.rider_id],
        "limited",
        "calendar link",
        "203.0.113.7",
    )


def _planner(order: StandingOrder, **changes: Any) -> Principal:
    scopes = frozenset({Scope.SCHEDULES_WRITE})
    return replace(system(), scopes=scopes, facility_ids=frozenset({order.facility_id}), **changes)


def test_names_take_the_level_that_shows_them() -> None:
    order = cast.order()

    for issue in (_issue_of_order, _issue_of_facility):
        with pytest.raises(DomainError) as refused:
            issue(order, _planner(order, phi=Phi.NONE), True)
        assert refused.value.code.name == "PHI_NOT_PERMITTED"
        issue(order, _planner(order, phi=Phi.LIMITED), True)
        issue(order, _planner(order, phi=Phi.NONE), False)


def _issue_of_order(order: StandingOrder, by: Principal, with_names: bool) -> CalendarLink:
    return calendar_links.issue_for_order(order_id=order.pk, with_names=with_names, by=by, at=NOW).link


def _issue_of_facility(order: StandingOrder, by: Principal, with_names: bool) -> CalendarLink:
    return calendar_links.issue_for_facility(facility_id=order.facility_id, with_names=with_names, by=by, at=NOW).link


def test_nobody_links_beyond_reach_or_without_the_right() -> None:
    order, other = cast.order(), cast.order()
    link = _issue_of_order(order, system(), False)
    carrier = replace(system(), provider_ids=frozenset({order.pk}))

    for by in (_planner(other), carrier):
        for issue in (_issue_of_order, _issue_of_facility):
            with pytest.raises(NotFound):
                issue(order, by, False)
        with pytest.raises(NotFound):
            calendar_links.revoke(link_id=link.pk, by=by, at=NOW)
    with pytest.raises(ScopeMissing):
        calendar_links.revoke(link_id=link.pk, by=replace(system(), scopes=frozenset()), at=NOW)
    assert CalendarLink.objects.live().count() == 1
    assert list(CalendarLink.objects.visible_to(_planner(order))) == [link]


def test_closed_day_leaves_the_calendar_after_reconciliation() -> None:
    order = cast.order()
    CalendarShift.objects.create(facility=order.facility, from_date=MONDAY, applied_at=NOW)
    StandingOrder.objects.update(generated_through=None)

    generate_rides.generate(by=system(), at=NOW)

    assert _events(_of_order(order))[0]["UID"] == f"{order.pk}.2026-11-25.outbound@carelane"
