"""RIDE_TERM=trip: pages say trip; the API keeps ride."""

import re
from pathlib import Path
from typing import Any

import polib
import pytest

from apps.accounts.rules.roles import UserRole
from config import ride_term, translations
from tests import factories
from tests.callers import api_with
from tests.console.visits import text_of, visitor

pytestmark = pytest.mark.django_db


@pytest.fixture
def trips(settings: Any, tmp_path: Path) -> None:
    settings.RIDE_TERM = "trip"
    settings.LOCALE_PATHS = [tmp_path]  # also clears Django's loaded translations
    translations.compile_all()


@pytest.mark.usefixtures("trips")
def test_pages_say_trip_and_never_ride() -> None:
    ride = factories.RideFactory.create()
    desk = visitor(UserRole.DISPATCHER)

    for page in ("/console/board/", "/console/board/?view=list", "/console/book/", f"/console/rides/{ride.pk}/"):
        said = text_of(desk.get(page))
        assert re.search(r"(?i)\btrips?\b", said), page
        assert re.findall(r"(?i).{30}\brides?\b.{30}", said) == [], page


@pytest.mark.usefixtures("trips")
def test_api_keeps_ride() -> None:
    ride = factories.RideFactory.create()

    refused = api_with().post(f"/api/rides/{ride.pk}/status", {"status": "completed"}, format="json")

    assert re.search(r"\bride\b", refused.json()["error"]["message"])


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("Rides of %(rides)s: a ride.", "Trips of %(rides)s: a trip."),
        ("Rider, ride time, rides:read, ride.started, PUT /rides/{id}", None),
    ],
)
def test_only_the_word_itself_changes(text: str, changed: str | None) -> None:
    assert ride_term.in_trips(text) == (changed or text)


def test_exceptions_are_texts_of_the_service() -> None:
    known = {text for path in translations.TEXTS.glob("*/*/django.po") for text in _texts(path)}

    assert set(ride_term._EXCEPTIONS) <= known


def _texts(path: Path) -> set[str]:
    return {text for entry in polib.pofile(str(path)) for text in (entry.msgid, entry.msgid_plural)}
