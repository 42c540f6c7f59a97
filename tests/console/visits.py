"""Requests of console pages: clients of logged-in users, and the text of a page."""

import html
import re
from typing import Any

from django.test import Client

from apps.accounts.rules.roles import UserRole
from tests import factories
from tests.accounts.signed_in import sign_in


def visitor(role: UserRole = UserRole.ADMIN, *, checks_csrf: bool = False) -> Client:
    """Return a client of a logged-in user with a role."""
    client = Client(enforce_csrf_checks=checks_csrf)
    sign_in(client, factories.UserFactory.create(role=role))
    return client


def text_of(response: Any) -> str:
    """Return the text of a page's main part, without tags, in one line."""
    page = response.content.decode()
    main = page.partition("<main")[2].partition("</main>")[0] or page
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", main)).split())


def told(response: Any) -> list[str]:
    """Return the messages that the next page shows."""
    return [str(message) for message in response.context["messages"]]
