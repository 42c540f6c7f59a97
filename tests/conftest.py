"""Fixtures for all tests: users, tokens, a facility, and a stopped clock."""

import datetime as dt
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import time_machine
from coverage import Coverage
from django.conf import settings
from django.core.cache import caches
from django.db import connection
from django.test import TestCase, TransactionTestCase
from pytest_django import DjangoDbBlocker
from rest_framework.test import APIClient

from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from lib.access import Principal
from tests import emptying, factories
from tests.callers import TokenClient, api_with
from tests.tiers import NIGHTLY

# The same examples in every run, on a machine of any speed.
hypothesis.settings.register_profile("suite", derandomize=True, deadline=None)
hypothesis.settings.load_profile("suite")

TESTS_OF_RULES = ("recurring", "riders", "rides")  # folders whose parametrized tests break one rule with each case


def pytest_configure() -> None:
    """Find static files on request: otherwise each new test client reads all static folders."""
    settings.WHITENOISE_AUTOREFRESH = True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out nightly tests, and limit coverage to one case of each test that uses the database, except of rules.

    Nightly tests run in `make nightly`, and if they alone are named.  Tracing doubles the time of a test, and further
    cases run the same lines.
    """
    daily = [item for item in items if NIGHTLY or not item.get_closest_marker("nightly")]
    if daily and len(daily) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("nightly")])
        items[:] = daily
    traced = set()
    for item in items:
        with_database = item.get_closest_marker("django_db") or "django_db_setup" in getattr(item, "fixturenames", ())
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        if isinstance(item, pytest.Function) and with_database and folder not in TESTS_OF_RULES:
            test = (item.path, item.originalname)
            if test in traced:
                item.add_marker(pytest.mark.untraced)
            traced.add(test)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Disable synchronous commits of the test database, and keep its tables small."""
    pooled: Any = connection
    name = pooled.ops.quote_name(pooled.settings_dict["NAME"])
    with django_db_blocker.unblock():
        with pooled.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        pooled.close()
        pooled.close_pool()  # its connections opened before the setting
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", emptying.after_commits)
        patch.setattr(TestCase, "_fixture_teardown", emptying.after_rollback)
        yield


@pytest.fixture(autouse=True)
def clock(request: pytest.FixtureRequest) -> Iterator[None]:
    """Stop Python's time at `now`; tests marked `real_clock` share real time with other processes."""
    if request.node.get_closest_marker("real_clock"):
        yield
        return
    with time_machine.travel(factories.NOW, tick=False):
        yield


@pytest.fixture(autouse=True)
def tracing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Exclude tests marked `untraced`, and the processes that they start, from coverage."""
    following = Coverage.current()
    if following is None or not request.node.get_closest_marker("untraced"):
        yield
        return
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
    following.stop()
    yield
    following.start()


@pytest.fixture(autouse=True)
def full_buckets() -> None:
    """Reset the rate limits: they are not refilled while time is stopped."""
    caches["throttles"].clear()


@pytest.fixture
def now() -> dt.datetime:
    """Friday 20 November 2026, 09:00 in Chicago."""
    return factories.NOW


@pytest.fixture
def hospital(db: None) -> Facility:
    return factories.FacilityFactory.create()


@pytest.fixture
def dispatcher(db: None) -> Principal:
    """A dispatcher of every facility and provider."""
    return factories.principal(UserRole.DISPATCHER)


@pytest.fixture
def supervisor(db: None) -> Principal:
    return factories.principal(UserRole.DISPATCH_SUPERVISOR)


@pytest.fixture
def planner(hospital: Facility) -> Principal:
    """A planner of `hospital` only."""
    return factories.principal(UserRole.PLANNER, facility_ids=frozenset({hospital.pk}))


@pytest.fixture
def outsider(db: None) -> Principal:
    """A planner of another facility."""
    return factories.principal(UserRole.PLANNER, facility_ids=frozenset({factories.FacilityFactory.create().pk}))


@pytest.fixture
def api_as(db: None) -> Callable[..., TokenClient]:
    """Call the API as a token of a role: `api_as(TokenRole.EHR_INTEGRATOR, facility_ids=[...]).get("/api/rides")`."""
    return api_with


@pytest.fixture
def api(db: None) -> TokenClient:
    """A token with all scopes and access to all rows."""
    return api_with()


@pytest.fixture
def nobody(db: None) -> APIClient:
    """A caller without a token."""
    return APIClient(raise_request_exception=False)
