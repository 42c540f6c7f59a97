"""A running service on the test database, and a browser for it.

`PICTURES=folder` saves a full-page picture of every page, theme and width.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, expect, sync_playwright

from apps.accounts.models import User
from tests.accounts.signed_in import sign_in
from tests.browser import chromium
from tests.browser.forking import Forge, forge
from tests.browser.harness import PATIENCE, Inspector

ROOT = Path(__file__).resolve().parent.parent.parent

expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests that need a browser if there is none."""
    if chromium.find() is not None:
        return
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.skip(reason="Chromium is not installed (set CHROMIUM to its path)"))


# Per module, not per session: its event loop runs in this thread, and other tests run their own loops.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # Without this, Django refuses database calls in this thread because of Playwright's event loop.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium.find(), args=["--no-sandbox", "--disable-background-networking"]
        )
        yield opened
        opened.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def services(django_db_setup: None) -> Iterator[Forge]:
    with forge() as made:
        yield made


@pytest.fixture
def service(services: Forge, transactional_db: None) -> Iterator[str]:
    """Address of the service, which serves the rows that the test has committed."""
    with services.serving() as url:
        yield url


@pytest.fixture
def inspector_of(service: str, browser: Browser) -> Iterator[Callable[[User | None], Inspector]]:
    """Return a function that makes an inspector for a logged-in user or an anonymous visitor."""
    with ExitStack() as windows:

        def make(user: User | None = None) -> Inspector:
            pictures = os.environ.get("PICTURES")
            return Inspector(
                browser,
                service,
                _cookies(service, user),
                windows.enter_context,
                pictures=Path(pictures) if pictures else None,
            )

        yield make


def _cookies(service: str, user: User | None) -> list[dict[str, Any]]:
    if user is None:
        return []
    client = Client()
    sign_in(client, user)
    name = settings.SESSION_COOKIE_NAME
    return [{"name": name, "value": client.cookies[name].value, "url": service}]
