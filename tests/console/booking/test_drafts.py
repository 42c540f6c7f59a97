"""Booking drafts: private, encrypted, resumable, and deleted once they are booked."""

import datetime as dt
import json
import re
import threading
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides import tasks
from apps.rides.models import BookingDraft, Ride
from apps.rides.queries import booking_drafts as queries
from apps.rides.services import booking, booking_drafts
from config.celery import TIMETABLE
from lib.access import Principal, system
from lib.ids import uuid7
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.booking.desk import BOOK, sent
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.locks import wait_until_somebody_waits
from tests.rides.drafts import draft

pytestmark = pytest.mark.django_db

DRAFTS = f"{BOOK}drafts/"
KEEP = f"{DRAFTS}keep/"
NEW = {"first_name": "Canaria", "last_name": "Birdsong", "birth_date": "1951-04-02", "is_new": "1", "rider": ""}


def _kept(desk: Client, about: str = "", **changes: Any) -> BookingDraft:
    form = sent(desk, about, **changes)
    desk.post(KEEP, form | {"by_itself": "1"})
    return BookingDraft.objects.get(key=form["key"])


def _person() -> Principal:
    return factories.principal(UserRole.DISPATCHER)


def test_form_keeps_itself_and_is_taken_up_as_it_stood(desk: Client, grace: Rider) -> None:
    form = sent(desk, f"?rider={grace.pk}", clock="1430", driver_notes="Ring twice.", unit="ICU")
    desk.post(KEEP, form | {"clock": "14"})

    answer = desk.post(KEEP, form | {"by_itself": "1", "allow_duplicate": "on", "q": "wal"})

    assert (answer.status_code, answer.content.decode()) == (200, "Draft saved at 09:00.")
    kept = BookingDraft.objects.get()
    shown = desk.get(f"{BOOK}?draft={kept.pk}")
    opened, about = shown.context["form"], shown.context["desk"]
    assert {name: opened[name].value() for name in ("key", "clock", "driver_notes", "unit")} == {
        "key": str(form["key"]),
        "clock": "1430",
        "driver_notes": "Ring twice.",
        "unit": "ICU",
    }
    assert about.rider.rider == grace
    assert not {"allow_duplicate", "q", "csrfmiddlewaretoken", "by_itself"} & set(queries.form_data_of(kept))
    assert AuditEntry.objects.filter(action="rides.draft").count() == 1
    assert "data-looks" in shown.content.decode()


def test_button_keeps_and_leads_to_the_list_of_what_is_begun(desk: Client, hospital: Facility, grace: Rider) -> None:
    known = sent(desk, f"?rider={grace.pk}", clock="1430")
    assert told(desk.post(KEEP, known, follow=True)) == ["The draft is saved."]
    desk.post(KEEP, sent(desk, "?for=dialysis", **NEW))
    desk.post(KEEP, {"key": str(uuid7()), "preset": "odd"})

    seen = desk.get(DRAFTS)

    rows = [(str(one.preset.label), one.rider, one.facility, one.time) for one in seen.context["rows"]]
    assert sorted(rows) == [
        ("Dialysis", "Birdsong, Canaria", "Riverbend General", "2026-11-20"),
        ("Discharge", "Walsh, Grace", "Riverbend General", "2026-11-20 1430"),
        ("Other", "", "", ""),
    ]
    assert "no rider yet" in text_of(seen)
    assert (
        AuditEntry.objects.filter(action="riders.read", rider_ids=[grace.pk]).count() == 3
    )  # the form, the list twice


def test_what_is_kept_is_sealed_and_in_no_address(desk: Client, hospital: Facility) -> None:
    kept = _kept(desk, **NEW)

    row = BookingDraft.objects.values().get()
    assert b"Birdsong" not in bytes(row["form_data_encrypted"])
    assert "Birdsong" not in str(kept)
    assert json.loads(kept.form_data)["last_name"] == "Birdsong"
    page = desk.get(DRAFTS).content.decode()
    assert [address for address in re.findall(r'(?:href|action)="([^"]*)"', page) if "Birdsong" in address] == []


def test_latest_draft_is_offered_where_a_booking_begins(desk: Client, grace: Rider) -> None:
    assert "You began a booking" not in text_of(desk.get(BOOK))
    kept = _kept(desk, f"?rider={grace.pk}", clock="1430")

    fresh = desk.get(BOOK)

    assert f'href="{BOOK}?draft={kept.pk}"' in fresh.content.decode()
    assert "You have an unfinished booking:" in text_of(fresh)
    assert "You began a booking" not in text_of(desk.get(f"{BOOK}?draft={kept.pk}"))
    assert "You began a booking" not in text_of(desk.post(BOOK, sent(desk) | {"do": "new"}))


def test_draft_outlives_the_session(desk: Client, grace: Rider) -> None:
    kept = _kept(desk, f"?rider={grace.pk}", clock="1430")
    desk.session.flush()
    assert desk.post(KEEP, {"key": str(kept.key), "by_itself": "1"}).status_code == 302
    assert desk.get(BOOK).status_code == 302

    sign_in(desk, User.objects.get())

    assert f"?draft={kept.pk}" in desk.get(BOOK).content.decode()


def test_booked_ride_has_no_draft_even_after_late_save(desk: Client, grace: Rider) -> None:
    form = sent(desk, f"?rider={grace.pk}", clock="1430")
    desk.post(KEEP, form)
    other = _kept(desk, clock="noon")

    desk.post(BOOK, form)
    late = desk.post(KEEP, form | {"by_itself": "1"})

    assert Ride.objects.count() == 1
    assert (late.status_code, late.content) == (200, b"")
    assert told(desk.post(KEEP, form, follow=True))[-1] == "This ride was booked already."
    assert list(BookingDraft.objects.all()) == [other]


def test_draft_stays_where_the_booking_is_refused(desk: Client, grace: Rider) -> None:
    form = sent(desk, f"?rider={grace.pk}", clock="1430", day="2026-11-18")
    desk.post(KEEP, form)

    assert desk.post(BOOK, form).status_code == 422
    assert BookingDraft.objects.count() == 1


def test_drafts_are_their_writers_alone(desk: Client, hospital: Facility, grace: Rider) -> None:
    kept = _kept(desk, f"?rider={grace.pk}", clock="1430")
    colleague = visitor(UserRole.DISPATCHER)
    form = {"key": str(kept.key), "clock": "1700", "by_itself": "1"}

    assert colleague.get(DRAFTS).context["rows"] == []
    assert colleague.get(f"{BOOK}?draft={kept.pk}").status_code == 404
    assert colleague.post(f"{DRAFTS}{kept.pk}/discard/").status_code == 404
    assert colleague.post(KEEP, form).status_code == 200  # a draft of their own, under the same key
    assert queries.form_data_of(BookingDraft.objects.get(pk=kept.pk))["clock"] == "1430"
    assert [one.status_code for one in (visitor(UserRole.AUDITOR).get(DRAFTS), Client().get(DRAFTS))] == [403, 302]
    assert visitor(UserRole.AUDITOR).post(KEEP, form).status_code == 403
    assert list(BookingDraft.objects.visible_to(system())) == []


def test_draft_is_thrown_away(desk: Client, grace: Rider) -> None:
    kept = _kept(desk, f"?rider={grace.pk}")

    done = desk.post(f"{DRAFTS}{kept.pk}/discard/", follow=True)

    assert told(done) == ["The draft is deleted."]
    assert "No drafts." in text_of(done)
    assert (BookingDraft.objects.count(), AuditEntry.objects.filter(action="rides.draft_discard").count()) == (0, 1)
    assert desk.post(f"{DRAFTS}{kept.pk}/discard/").status_code == 404
    assert desk.get(f"{BOOK}?draft={kept.pk}").status_code == 404
    assert desk.get(f"{BOOK}?draft=x").status_code == 404


@pytest.mark.parametrize(
    "said",
    [
        {"rider": "x", "facility": "y", "preset": "?", "day": "soon", "clock": "25:00"},
        {"rider": str(uuid4()), "facility": str(uuid4())},
        {"is_new": "1", "birth_date": "\0", "first_name": "\U0001f600" * 4_000, "escorts": "?", "mobility": "fly"},
        {
            "pickup_from": "nowhere",
            "dropoff_at": "at-1",
            "when": "never",
            "way_back": "?",
            "payer": "x",
            "which": "third",
        },
        {"Odd Name": "1", "x" * 99: "1", **{f"more_{number}": "1" for number in range(200)}},
    ],
)
def test_nonsense_is_kept_as_it_is_and_opens_all_the_same(desk: Client, grace: Rider, said: dict[str, str]) -> None:
    kept = _kept(desk, **said)

    opened = desk.get(f"{BOOK}?draft={kept.pk}")

    assert opened.status_code == 200
    assert desk.get(DRAFTS).status_code == 200
    assert max(len(text) for text in queries.form_data_of(kept).values()) <= 2_000
    assert len(queries.form_data_of(kept)) <= 150
    assert desk.post(BOOK, opened.context["form"].initial | {"preset": "discharge", "rider": ""}).status_code == 422


def test_rider_who_is_out_of_reach_by_now_is_left_out(desk: Client, hospital: Facility, grace: Rider) -> None:
    kept = _kept(desk, f"?rider={grace.pk}", clock="1430")
    other = factories.FacilityFactory.create(name="Another")
    User.objects.get().facilities.set([other])

    opened = desk.get(f"{BOOK}?draft={kept.pk}")

    assert told(opened) == ["You no longer have access to the rider or the facility of this draft."]
    assert (opened.context["desk"].rider, opened.context["desk"].facility) == (None, other)
    assert opened.context["form"]["clock"].value() == "1430"
    assert "Walsh" not in text_of(desk.get(DRAFTS))


def test_form_without_a_key_is_not_kept(desk: Client) -> None:
    assert desk.post(KEEP, {"clock": "1430", "key": "x", "by_itself": "1"}).status_code == 422
    assert "could not be saved" in told(desk.post(KEEP, {"clock": "1430"}, follow=True))[0]
    assert BookingDraft.objects.count() == 0


def test_drafts_are_forgotten_after_a_week_without_a_word(db: None) -> None:
    by = _person()
    ages = (booking_drafts.RETENTION + dt.timedelta(seconds=1), booking_drafts.RETENTION, dt.timedelta(0))
    kept = [booking_drafts.save(key=uuid7(), form_data={}, by=by, at=NOW - age) for age in ages]

    tasks.purge_drafts()

    assert set(BookingDraft.objects.all()) == set(kept[1:])
    assert tasks.purge_drafts.name in TIMETABLE


def test_oldest_drafts_of_one_person_give_way(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(booking_drafts, "MAX_DRAFTS", 2)
    by, another = _person(), _person()
    theirs = booking_drafts.save(key=uuid7(), form_data={}, by=another, at=NOW - dt.timedelta(days=1))
    mine = [
        booking_drafts.save(key=uuid7(), form_data={}, by=by, at=NOW + dt.timedelta(minutes=number))
        for number in range(3)
    ]

    assert set(BookingDraft.objects.all()) == {theirs, *mine[1:]}


@pytest.mark.django_db(transaction=True)
def test_draft_saved_during_booking_detects_the_ride() -> None:
    facility = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create(facility=facility)
    by, key = _person(), uuid7()
    kept: list[BookingDraft | None] = []

    def keep() -> None:
        try:
            kept.append(booking_drafts.save(key=key, form_data={"clock": "1430"}, by=by, at=NOW))
        finally:
            connection.close()

    beside = threading.Thread(target=keep)
    with transaction.atomic():
        booking_drafts.book(draft=draft(facility, rider), key=key, by=by, at=NOW)
        beside.start()
        wait_until_somebody_waits()
    beside.join()

    assert (kept, BookingDraft.objects.count(), Ride.objects.count()) == ([None], 0, 1)


def test_booking_with_a_draft_raises_what_booking_raises(db: None) -> None:
    facility = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create(facility=facility)
    by, key = _person(), uuid7()
    booking_drafts.book(draft=draft(facility, rider), key=key, by=by, at=NOW)

    with pytest.raises(booking.BookedAlready):
        booking_drafts.book(draft=draft(facility, rider), key=key, by=by, at=NOW)
