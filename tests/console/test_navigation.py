"""Frame around pages: rendered for whole pages, and not for fragments."""

from collections import Counter

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.console.shell import navigation
from tests import factories
from tests.accounts.signed_in import sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def client() -> Client:
    client = Client()
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCHER))
    return client


def test_fragment_builds_no_navigation(client: Client) -> None:
    shell = client.get("/console/exceptions/list/").context["shell"]

    assert {"navigation", "page_keys", "privacy", "_open_counts"} & vars(shell).keys() == set()


def test_page_shows_entries_with_the_current_one(client: Client) -> None:
    shell = client.get("/console/exceptions/").context["shell"]

    entries = {str(entry["label"]): entry for group in shell.navigation for entry in group["entries"]}
    assert [label for label, entry in entries.items() if entry["current"]] == ["Exceptions"]
    assert (entries["Exceptions"]["count"], shell.inbox) == (0, 0)


def test_payers_and_suggested_codes_have_different_icons() -> None:
    icons = {str(entry.label): entry.icon for group in navigation.CONTENTS for entry in group.entries}

    assert icons["Payers"] != icons["HCPCS codes"]


def test_no_two_pages_share_an_icon() -> None:
    entries = [navigation.HOME, navigation.INBOX, *(entry for group in navigation.CONTENTS for entry in group.entries)]

    icons = Counter(entry.icon for entry in entries)

    assert [icon for icon, count in icons.items() if count > 1] == []
