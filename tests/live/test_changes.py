"""Change query of pages that cannot use a stream."""

import datetime as dt
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.events import services
from apps.events.models import Event
from apps.events.visibility import change_filter_for
from lib.access import system
from lib.ids import oldest_of
from lib.live.changes import RecordChange
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import visitor
from tests.events.test_feed import wait_until_settled
from tests.factories import NOW
from tests.live.test_telling import columns

CHANGES = "/console/live/changes/"


def happen(**more: Any) -> dict[str, Any]:
    event = columns(**more)
    services.record(**event, by=system())
    return {"subject": event["subject_type"], "id": str(event["subject_id"]), "type": event["type"]}


@pytest.mark.django_db(transaction=True)
def test_page_that_asks_again_and_again_hears_everything_once() -> None:
    client = visitor(UserRole.DISPATCHER)
    first = client.get(f"{CHANGES}?age=0").json()
    nothing = client.get(f"{CHANGES}?after={first['cursor']}")
    same = client.get(f"{CHANGES}?after={first['cursor']}", headers={"If-None-Match": nothing["ETag"]})
    told = [happen(), happen()]
    wait_until_settled()

    something = client.get(f"{CHANGES}?after={first['cursor']}", headers={"If-None-Match": nothing["ETag"]})
    further = client.get(f"{CHANGES}?after={something.json()['cursor']}")

    assert (first["changes"], first["resync"]) == ([], False)
    assert (nothing.status_code, nothing.content, nothing["Cache-Control"]) == (204, b"", "no-store")
    assert (same.status_code, same.content) == (304, b"")
    assert (something.status_code, something.json()["changes"]) == (200, told)
    assert something["ETag"] == f'"{something.json()["cursor"]}"'
    assert further.status_code == 204


@pytest.mark.django_db(transaction=True)
def test_page_that_missed_much_looks_at_everything() -> None:
    client = visitor(UserRole.DISPATCHER)
    cursor = client.get(f"{CHANGES}?age=0").json()["cursor"]
    services.record_all([columns() for _ in range(201)], by=system())
    wait_until_settled()

    missed = client.get(f"{CHANGES}?after={cursor}").json()
    looked = client.get(f"{CHANGES}?age=10").json()

    assert (missed["changes"], missed["resync"]) == ([], True)
    assert client.get(f"{CHANGES}?after={missed['cursor']}").status_code == 204
    assert (looked["changes"], looked["resync"]) == ([], True)


@pytest.mark.django_db
def test_page_hears_what_happened_while_it_was_on_its_way() -> None:
    client = visitor(UserRole.DISPATCHER)
    made = [columns(id=oldest_of(NOW - dt.timedelta(seconds=ago))) for ago in (71, 70, 0)]
    services.record_all(made, by=system())

    answer = client.get(f"{CHANGES}?age=10").json()

    assert [change["id"] for change in answer["changes"]] == [str(one["subject_id"]) for one in made[1:]]
    assert answer["resync"] is False


@pytest.mark.django_db
def test_changes_take_one_query_age_two_and_inbox_as_many(django_assert_num_queries: Any) -> None:
    client = visitor(UserRole.DISPATCHER)
    cursor = client.get(f"{CHANGES}?age=0").json()["cursor"]
    for _ in range(3):
        happen()

    with django_assert_num_queries(2 + 2 + 2):  # the session and its user, the changes, and the inbox
        client.get(f"{CHANGES}?age=5")
    with django_assert_num_queries(2 + 1 + 1):
        client.get(f"{CHANGES}?after={cursor}")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "query", ["", "?after=", "?after=x", "?age=", "?age=-1", "?age=3601", "?age=1.5", "?age=%C2%B2", "?age=1&age=x"]
)
def test_question_that_makes_no_sense_is_refused(query: str) -> None:
    assert visitor(UserRole.DISPATCHER).get(f"{CHANGES}{query}").status_code == 400


@pytest.mark.django_db
def test_cursor_of_another_reach_is_refused() -> None:
    cursor = visitor(UserRole.DISPATCHER).get(f"{CHANGES}?age=0").json()["cursor"]

    assert visitor(UserRole.PLANNER).get(f"{CHANGES}?after={cursor}").status_code == 400


@pytest.mark.django_db
@pytest.mark.parametrize("bound", ["", "facility", "provider", "both"])
def test_streams_tell_whom_the_feed_tells(bound: str) -> None:
    facility, provider = factories.FacilityFactory.create(), factories.TransportProviderFactory.create()
    others = [factories.FacilityFactory.create(), factories.TransportProviderFactory.create()]
    reach: dict[str, Any] = {}
    if bound in ("facility", "both"):
        reach["facility_ids"] = frozenset({facility.pk})
    if bound in ("provider", "both"):
        reach["provider_ids"] = frozenset({provider.pk})
    reader = factories.principal(UserRole.DISPATCHER, **reach)
    for at in (None, facility, others[0]):
        for of in (None, provider, others[1]):
            for subject in ("ride", "token"):
                places: dict[str, Any] = {"facility_id": at and at.pk, "provider_id": of and of.pk}
                services.record(**columns(subject_type=subject, **places), by=system())
    with connection.cursor() as cursor:  # as the trigger writes them
        cursor.execute(
            "SELECT subject_type, subject_id::text, type, facility_id::text, provider_id::text FROM events_event"
        )
        changes = [RecordChange(*row) for row in cursor.fetchall()]

    streamed = {change.id for change in changes if change_filter_for(reader)(change)}

    assert streamed == {str(event.subject_id) for event in Event.objects.visible_to(reader)}
    assert len(streamed) == {"": 18, "facility": 6, "provider": 6, "both": 2}[bound]


@pytest.mark.django_db
def test_strangers_hear_nothing(client: Client) -> None:
    answer = client.get(f"{CHANGES}?age=0")

    assert (answer.status_code, answer["Location"]) == (302, f"/accounts/login/?next={CHANGES}%3Fage%3D0")
    sign_in(client, factories.UserFactory.create())
    assert client.get(f"{CHANGES}?age=0").status_code == 200
